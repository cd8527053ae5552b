"""Ports for tests that start programs which listen."""
import random, socket

_given = set()


def free_port():
    """One that nobody listens at, and that the system gives nobody who asks for any port."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
        first_given_to_anybody = int(f.read().split()[0])
    chance = random.SystemRandom()
    for _ in range(1000):
        port = chance.randrange(10000, max(first_given_to_anybody, 10100))
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in _given:
            _given.add(port)
            return port
    raise OSError("no port is free")
