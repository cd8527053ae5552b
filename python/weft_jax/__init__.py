"""JAX's platform `weft`: JAX_PLATFORMS=weft runs programs on weft's compiler and devices.

JAX finds this package by its entry point and calls initialize(). The library libweft_pjrt.so is looked for in this order: the file that the
environment variable WEFT_PJRT_LIBRARY names; beside this file; in the lib folders of the prefix that Python runs in, of /usr/local and of /usr.
"""
import os
import pathlib
import sys

LIBRARY = "libweft_pjrt.so"


def library_path():
    """The plugin's file; FileNotFoundError, with all places that were tried, if there is none."""
    named = os.environ.get("WEFT_PJRT_LIBRARY")
    if named:
        if not os.path.isfile(named):
            raise FileNotFoundError(f"WEFT_PJRT_LIBRARY is {named}, where there is no file")
        return named
    folders = [pathlib.Path(__file__).resolve().parent]
    for prefix in dict.fromkeys((sys.prefix, "/usr/local", "/usr")):
        folders += [pathlib.Path(prefix) / "lib", pathlib.Path(prefix) / "lib64", *sorted((pathlib.Path(prefix) / "lib").glob("*-linux-gnu"))]
    for folder in folders:
        if (folder / LIBRARY).is_file():
            return str(folder / LIBRARY)
    raise FileNotFoundError(f"{LIBRARY} is in none of {', '.join(map(str, folders))}; WEFT_PJRT_LIBRARY names it elsewhere")


def initialize():
    """Registers the platform, lowerings for what JAX lowers by custom calls on platforms that it knows, and calls of Python functions."""
    from jax._src import xla_bridge

    try:
        path = library_path()
    except FileNotFoundError as e:
        # JAX imports all plugins, also where another platform is used.
        if "weft" in os.environ.get("JAX_PLATFORMS", "").split(","):
            raise
        xla_bridge.logger.info("weft: %s", e)
        return
    xla_bridge.register_plugin("weft", priority=50, library_path=path)
    from weft_jax import cache, callbacks, dlpack, lowerings

    lowerings.register()
    callbacks.register(path)
    dlpack.register()
    cache.register()
