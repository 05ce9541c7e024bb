"""One transfer or screenshot at a time with the cua-computer client; commands on standard input, seconds on standard output."""

import asyncio
import json
import sys
import time

from computer.interface.factory import InterfaceFactory


async def main(port: int) -> None:
    interface = InterfaceFactory.create_interface_for_os(os="linux", ip_address="127.0.0.1", api_port=port)
    for line in sys.stdin:
        ask = json.loads(line)
        begun = time.perf_counter()
        if ask["do"] == "upload":
            with open(ask["from"], "rb") as file:
                content = file.read()
            begun = time.perf_counter()
            await interface.write_bytes(ask["path"], content)
        elif ask["do"] == "download":
            await interface.read_bytes(ask["path"])
        elif ask["do"] == "screenshot":
            await interface.screenshot()
        else:
            await interface.left_click(*ask["point"])
        print(json.dumps({"seconds": time.perf_counter() - begun}), flush=True)


asyncio.run(main(int(sys.argv[1])))
