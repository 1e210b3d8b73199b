"""tcp_copy.py HOST BYTES: sends BYTES bytes to the same program on HOST while it receives as many from another host.
Prints the seconds from the first received byte to the last one."""

import socket
import sys
import threading
import time

PORT = 7700
PART = 1 << 18  # bytes


def send(host: str, size: int) -> None:
    end = time.monotonic() + 20
    while True:
        try:
            target = socket.create_connection((host, PORT))
            break
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)
    with target:
        for at in range(0, size, PART):
            target.sendall(bytes(min(PART, size - at)))


def main() -> None:
    host, size = sys.argv[1], int(sys.argv[2])
    with socket.create_server(("", PORT)) as listener:
        sender = threading.Thread(target=send, args=(host, size))
        sender.start()
        source, _ = listener.accept()
        begin = 0.0
        while part := source.recv(PART):
            begin = begin or time.monotonic()
            size -= len(part)
        end = time.monotonic()
        sender.join()
    if size != 0:
        sys.exit(f"{size} bytes are missing")
    print(end - begin)


if __name__ == "__main__":
    main()
