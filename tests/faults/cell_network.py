"""Hosts of a cell: network namespaces joined by a bridge, whose links can be cut."""
import subprocess
import uuid


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


class CellNetwork:
    def __init__(self, hosts, tag):
        self.tag = tag
        self.hosts = hosts
        self.addresses = [f"10.77.0.{host + 1}" for host in range(hosts)]
        try:
            self._make()
        except BaseException:
            self.remove()
            raise

    def _make(self):
        # The bridge stands in a namespace of its own, so that cells can go on side by side.
        ip("netns", "add", self._name("hub"))
        self._in("hub", "ip", "link", "add", "bridge", "type", "bridge")
        self._in("hub", "ip", "link", "set", "bridge", "up")
        for host in range(self.hosts):
            ip("netns", "add", self._name(host))
            ip("link", "add", "net", "netns", self._name(host), "type", "veth", "peer", "name",
               f"port{host}", "netns", self._name("hub"))
            self._in("hub", "ip", "link", "set", f"port{host}", "master", "bridge", "up")
            self._in(host, "ip", "link", "set", "lo", "up")
            self._in(host, "ip", "address", "add", f"{self.addresses[host]}/24", "dev", "net")
            self._in(host, "ip", "link", "set", "net", "up")

    def _name(self, host):
        return f"cbf-{self.tag}-{host}"

    def _in(self, host, *words):
        ip("netns", "exec", self._name(host), *words)

    def prefix(self, host):
        return ["ip", "netns", "exec", self._name(host)]

    def cut(self, host):
        """Nothing passes any more, and nobody is told: the bridge's side goes down."""
        self._in("hub", "ip", "link", "set", f"port{host}", "nomaster")

    def join(self, host):
        self._in("hub", "ip", "link", "set", f"port{host}", "master", "bridge", "up")

    def remove(self):
        for host in ["hub", *range(self.hosts)]:
            ip("netns", "del", self._name(host), check=False)

    @staticmethod
    def refusal():
        """Why there can be no such hosts here; empty if there can."""
        try:
            network = CellNetwork(1, uuid.uuid4().hex[:6])
        except FileNotFoundError:
            return "there is no ip command"
        except subprocess.CalledProcessError as error:
            return f"no network namespaces: {' '.join(error.cmd)}: {error.stderr.strip()}"
        network.remove()
        return ""
