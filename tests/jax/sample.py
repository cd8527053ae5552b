"""A plugin for pytest: of a file's tests it keeps WEFT_SAMPLE, chosen by their names, so that every platform runs the same ones."""
import hashlib
import os


def pytest_collection_modifyitems(config, items):
    most = int(os.environ.get("WEFT_SAMPLE", "0"))
    if not most or len(items) <= most:
        return
    chosen = set(sorted((hashlib.sha256(item.name.encode()).hexdigest(), item.nodeid) for item in items)[:most])
    kept = [item for item in items if (hashlib.sha256(item.name.encode()).hexdigest(), item.nodeid) in chosen]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
