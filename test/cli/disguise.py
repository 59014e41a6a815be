"""Puts a node behind a unix socket of its own, and has it say something else of itself: every FROM in its answers becomes TO,
which has to be as long. For servers that are not at hand: what it says is another version, all else is the node's.
Usage: disguise.py SOCKET NODE_SOCKET FROM TO; it runs until it is killed."""

import asyncio
import sys

socket, node, before, after = sys.argv[1], sys.argv[2], sys.argv[3].encode(), sys.argv[4].encode()
assert len(before) == len(after)


def split(data):
    """What can be passed on, and the beginning of a FROM whose end has not come yet."""
    data = data.replace(before, after)
    for length in range(min(len(before) - 1, len(data)), 0, -1):
        if data.endswith(before[:length]):
            return data[:-length], data[-length:]
    return data, b""


async def carry(source, target, change):
    kept = b""
    try:
        while data := await source.read(65536):
            data, kept = split(kept + data) if change else (data, b"")
            target.write(data)
            await target.drain()
    except ConnectionError:
        pass
    target.close()


async def serve(client_reader, client_writer):
    try:
        node_reader, node_writer = await asyncio.open_unix_connection(node)
    except OSError:
        client_writer.close()
        return
    await asyncio.gather(carry(client_reader, node_writer, False), carry(node_reader, client_writer, True))


async def main():
    async with await asyncio.start_unix_server(serve, socket) as server:
        await server.serve_forever()


asyncio.run(main())
