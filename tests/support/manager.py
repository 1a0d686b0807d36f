"""A service manager as the exporter sees it: the socket that it tells how it goes, sd_notify(3)."""

import os
import socket
import tempfile

from victim import wait_until


class Manager:
    """The receiving end of $NOTIFY_SOCKET."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.path = os.path.join(self.folder.name, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        os.chmod(self.path, 0o777)  # as systemd's
        self.socket.setblocking(False)
        self.heard = []

    def listen(self):
        while True:
            try:
                self.heard.append(self.socket.recv(4096).decode())
            except BlockingIOError:
                return self.heard

    def wait(self, message):
        return wait_until(lambda: message in self.listen(), 20, message)

    def close(self):
        self.socket.close()
        self.folder.cleanup()
