"""The file systems that the hosts of a rack share, each mounted at rack.shared on every host."""

import os
import pathlib
import shutil
import subprocess
import time

from rack import Rack

BIN = pathlib.Path(os.environ.get("SHEAF_BIN", "build/bin")).resolve()


class FileSystem:
    """A shared file system.

    `needs` lists the required programs. fresh() lets all hosts see files that other hosts have closed."""

    name = ""
    needs: tuple[str, ...] = ()
    one_server = False  # one host stores a whole file

    def __init__(self, rack: Rack, full: int = 0):
        self.rack = rack
        self.full = full  # size in MiB, for tests of full volumes; 0: no limit

    @classmethod
    def missing(cls) -> str:
        lacking = [
            name for name in cls.needs if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        ]
        return f"no {', '.join(lacking)} (scripts/install-deps.sh cluster)" if lacking else ""

    def up(self) -> None:
        raise NotImplementedError

    def mount(self, host: str) -> None:
        raise NotImplementedError

    def unmount(self, host: str) -> None:
        self.rack.on(host, f"umount {self.rack.shared} || umount -l {self.rack.shared}", check=False)

    def fresh(self) -> None:
        """Makes hosts drop all cached state."""

    def wait_mounted(self, host: str) -> None:
        self.rack.on(
            host,
            f"for i in $(seq 200); do mountpoint -q {self.rack.shared} && exit 0; sleep 0.05; done; exit 1",
        )

    def remount(self) -> None:
        for host in self.rack.hosts:
            self.unmount(host)
            self.mount(host)
            self.wait_mounted(host)
        self.rack.ready()

    def store(self) -> pathlib.Path:
        """Returns a local directory for the stored data. If `full` is set, the directory is a file system of
        this size."""
        where = self.rack.state / "store"
        where.mkdir(exist_ok=True)
        if self.full:
            self.rack.rack(f"mount -t tmpfs -o size={self.full}m tmpfs {where}")
        return where


class Ext4(FileSystem):
    """A local directory that all hosts mount. They share one page cache, like the tasks of a single host."""

    name = "ext4"

    def up(self) -> None:
        self.store()
        for host in self.rack.hosts:
            self.mount(host)

    def mount(self, host: str) -> None:
        self.rack.on(host, f"mount --bind {self.rack.state}/store {self.rack.shared}")


class Fuse(FileSystem):
    """One local directory that each host reaches through its own FUSE mount. Each host has its own page cache,
    and locks are local to a host.

    With writeback,cache=always the kernel trusts its cached data and sizes, whatever other hosts do. A host
    must mount again before it sees files that other hosts have closed."""

    name = "fuse2"
    options = "writeback,cache=always,timeout=0"
    needs = ("fusermount3",)

    @classmethod
    def missing(cls) -> str:
        if not (BIN / "passthrough_ll").exists():
            return "no passthrough_ll: libfuse3-dev and its examples were not there when this was built"
        return super().missing() or ("" if os.path.exists("/dev/fuse") else "no /dev/fuse")

    def up(self) -> None:
        where = self.store()
        if self.full:  # a mount in the rack's namespace does not appear in hosts that already exist
            for host in self.rack.hosts:
                inner = (self.rack.state / host / "pid").read_text().strip()
                self.rack.rack(f"kill -0 {inner}")
            self.share_store(where)
        for host in self.rack.hosts:
            self.mount(host)
        for host in self.rack.hosts:
            self.wait_mounted(host)

    def share_store(self, where: pathlib.Path) -> None:
        """Mounts a small file system that is stored in a file. All hosts mount the same superblock."""
        self.rack.rack(f"umount {where}")
        image = self.rack.state / "image"
        subprocess.run(["truncate", "-s", f"{self.full}M", image], check=True)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
        device = subprocess.run(
            ["losetup", "--show", "-f", image], check=True, capture_output=True, text=True
        ).stdout.strip()
        try:
            for host in self.rack.hosts:
                self.rack.on(host, f"mount {device} {where}")
        finally:
            subprocess.run(["losetup", "-d", device], check=True)  # released with the last mount

    def mount(self, host: str) -> None:
        options = f"{self.options},source={self.rack.state}/store"
        self.rack.on(
            host,
            f"setsid {BIN}/passthrough_ll -f -o {options} {self.rack.shared} >/dev/null 2>&1 </dev/null &",
        )

    def fresh(self) -> None:
        self.remount()


class FuseThrough(Fuse):
    """FUSE that writes through and caches reads until the next open, which gives close-to-open consistency as
    in NFS."""

    name = "fuse2-through"
    options = "cache=auto,timeout=0"

    def fresh(self) -> None:
        pass


class Gluster(FileSystem):
    """GlusterFS with default settings: two data bricks and one redundancy brick over three hosts."""

    name = "gluster"
    needs = ("glusterd", "gluster", "glusterfs")
    settings: tuple[str, ...] = ()
    mount_options = ""
    layout = "disperse 3 redundancy 1"

    def up(self) -> None:
        rack = self.rack
        for host in rack.hosts:
            for part in ("glusterd", "log", "run", "brick"):
                (rack.state / host / part).mkdir()
            where = rack.state / host
            if self.full:
                rack.on(host, f"mount -t tmpfs -o size={self.full // 2}m tmpfs {where}/brick")
            rack.on(
                host,
                f"mount --bind {where}/glusterd /var/lib/glusterd;"
                f" mount --bind {where}/log /var/log/glusterfs;"
                f" mount --bind {where}/run /run;"
                " setsid glusterd -N --log-level WARNING >/dev/null 2>&1 </dev/null &",
            )
        self.gluster("peer status", 30)
        for host in rack.hosts[1:]:
            self.gluster(f"peer probe {host}", 30)
        connected = (
            f"[ $(gluster peer status | grep -c 'Peer in Cluster (Connected)') = {len(rack.hosts) - 1} ]"
        )
        rack.on("h1", f"for i in $(seq 100); do {connected} && exit 0; sleep 0.2; done; exit 1")
        bricks = " ".join(f"{host}:{rack.state}/{host}/brick/b" for host in rack.hosts)
        self.gluster(f"volume create par {self.layout} {bricks} force", 20)
        for setting in self.settings:
            self.gluster(f"volume set par {setting}", 5)
        self.gluster("volume start par", 5)
        for host in rack.hosts:
            self.mount(host)
        for host in rack.hosts:
            self.wait_mounted(host)
        self.wait_usable()

    def gluster(self, command: str, tries: int) -> None:
        for attempt in range(tries):
            code, output = self.rack.outcome(
                [*self.rack.enter(), f"{self.rack.state}/rsh", "h1", f"gluster --mode=script {command}"], 120
            )
            if code == 0:
                return
            time.sleep(0.3)
        raise RuntimeError(f"gluster {command}: {output}")

    def wait_usable(self) -> None:
        for host in self.rack.hosts:
            probe = f"{self.rack.shared}/.probe-{host}"
            self.rack.on(
                host,
                f"for i in $(seq 100); do touch {probe} 2>/dev/null && rm {probe} && exit 0; sleep 0.2; done;"
                " exit 1",
            )

    def mount(self, host: str) -> None:
        self.rack.on(
            host,
            f"glusterfs {self.mount_options} --volfile-server={host} --volfile-id=par {self.rack.shared}",
        )


class GlusterStrict(Gluster):
    """GlusterFS without attribute cache and caching translators, so that hosts see changes at once."""

    name = "gluster-strict"
    settings = tuple(
        f"performance.{part} off"
        for part in ("open-behind", "quick-read", "io-cache", "stat-prefetch", "read-ahead")
    )
    mount_options = "--attribute-timeout=0 --entry-timeout=0 --negative-timeout=0"


class GlusterDistribute(GlusterStrict):
    """GlusterFS that stores each file on one of the hosts."""

    name = "gluster-distribute"
    layout = ""
    one_server = True


class MooseFS(FileSystem):
    """MooseFS: a master on h1, a chunk server on every host.

    If a chunk server has no space, a client retries for minutes (mfsioretries, 30) and then reports EIO. If all
    servers have less than 64 MiB of free space, the master reports ENOSPC at once. Therefore a full volume
    keeps `kept_free` MiB free, so that clients get ENOSPC and do not retry."""

    name = "moosefs"
    needs = ("mfsmaster", "mfschunkserver", "mfsmount")
    kept_free = 80  # MiB

    def up(self) -> None:
        rack = self.rack
        master = rack.state / "h1" / "master"
        master.mkdir()
        shutil.copy("/var/lib/mfs/metadata.mfs.empty", master / "metadata.mfs")
        (master / "exports").write_text("* / rw,alldirs,maproot=0:0\n* . rw\n")
        common = "WORKING_USER = root\nWORKING_GROUP = root\nNICE_LEVEL = 0\nDISABLE_OOM_KILLER = 0\n"
        (master / "cfg").write_text(
            f"{common}DATA_PATH = {master}\nEXPORTS_FILENAME = {master}/exports\n"
            f"TOPOLOGY_FILENAME = {master}/topology\nINODE_REUSE_DELAY = 60\n"
        )
        (master / "topology").write_text("")
        rack.on("h1", f"setsid mfsmaster -c {master}/cfg -f >{master}/log 2>&1 </dev/null &")
        for host in rack.hosts:
            chunks = rack.state / host / "chunks"
            (chunks / "data").mkdir(parents=True)
            if self.full:
                rack.on(host, f"mount -t tmpfs -o size={self.full + self.kept_free}m tmpfs {chunks}/data")
            (chunks / "hdd").write_text(f"{chunks}/data\n")
            (chunks / "cfg").write_text(
                f"{common}DATA_PATH = {chunks}\nHDD_CONF_FILENAME = {chunks}/hdd\n"
                f"HDD_LEAVE_SPACE_DEFAULT = {self.kept_free if self.full else 0}MiB\n"
                "MASTER_HOST = h1\nMASTER_RECONNECTION_DELAY = 1\n"
            )
            rack.on(host, f"setsid mfschunkserver -c {chunks}/cfg -f >{chunks}/log 2>&1 </dev/null &")
        for host in rack.hosts:
            self.mount(host)
        for host in rack.hosts:
            self.wait_mounted(host)
            probe = f"{rack.shared}/.probe-{host}"
            rack.on(
                host,
                f"for i in $(seq 600); do timeout 20 dd if=/dev/zero of={probe} bs=4k count=1 conv=fsync 2>/dev/null"
                f" && rm {probe} && exit 0; sleep 0.2; done; exit 1",
                timeout=240,
            )

    def mount(self, host: str) -> None:
        self.rack.on(
            host,
            f"for i in $(seq 50); do mfsmount {self.rack.shared} -H h1 {self.retries()} >/dev/null 2>&1 && exit 0;"
            " sleep 0.3; done;"
            " exit 1",
        )

    def retries(self) -> str:
        return "-o mfsioretries=4" if self.full else ""


class Ceph(FileSystem):
    """CephFS by ceph-fuse: a monitor, a manager, a metadata server and an in-memory store on h1, a client on
    every host.

    The size of a full volume is a quota. The clients enforce the quota; the store itself never fills up."""

    name = "ceph"
    needs = ("ceph-mon", "ceph-mgr", "ceph-osd", "ceph-mds", "ceph-fuse", "ceph-authtool", "monmaptool")
    one_server = True
    identity = "6f2a1f2e-0000-4000-8000-000000000001"
    store_bytes = 3 << 30

    def up(self) -> None:
        rack = self.rack
        self.home = rack.state / "ceph"
        for part in ("run", "log", "mon.a", "mgr.x", "mds.a", "osd.0"):
            (self.home / part).mkdir(parents=True)
        (self.home / "conf").write_text(self.configuration())
        self.make_monitor()
        self.daemon("ceph-mon", "a")
        self.ceph("-s")
        self.daemon("ceph-mgr", "x")
        self.ceph(f"osd new {self.identity}")
        rack.on("h1", f"ceph-osd -c {self.home}/conf -i 0 --mkfs --osd-uuid {self.identity}", timeout=120)
        self.daemon("ceph-osd", "0")
        for command in ("osd pool create meta 8", "osd pool create data 8", "fs new par meta data"):
            self.ceph(command)
        self.daemon("ceph-mds", "a")
        self.wait_for("mds stat", "up:active")
        for host in rack.hosts:
            self.mount(host)
        for host in rack.hosts:
            self.wait_mounted(host)
            probe = f"{rack.shared}/.probe-{host}"
            rack.on(host, f"dd if=/dev/zero of={probe} bs=4k count=1 conv=fsync 2>/dev/null && rm {probe}", timeout=120)
        if self.full:
            quota = f"import os; os.setxattr('{rack.shared}', 'ceph.quota.max_bytes', b'{self.full << 20}')"
            rack.on("h1", f'python3 -c "{quota}"')

    def configuration(self) -> str:
        home = self.home
        return f"""[global]
fsid = {self.identity}
mon host = [v2:10.77.0.1:3300/0,v1:10.77.0.1:6789/0]
public network = 10.77.0.0/24
auth cluster required = none
auth service required = none
auth client required = none
keyring = {home}/keyring
osd pool default size = 1
osd pool default min size = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = {self.store_bytes}
memstore page set = true
memstore page size = 65536
mon allow pool size one = true
mon data avail crit = 1
mon data avail warn = 2
run dir = {home}/run
pid file = {home}/run/$name.pid
log file = {home}/log/$name.log
admin socket = {home}/run/$cluster-$name.$pid.asok
mon data = {home}/mon.$id
osd data = {home}/osd.$id
mgr data = {home}/mgr.$id
mds data = {home}/mds.$id
mon cluster log file = {home}/log/cluster.log
osd heartbeat grace = 600
mds beacon grace = 600
mds session autoclose = 60
mds session timeout = 15
[mgr]
mgr initial modules =
"""

    def make_monitor(self) -> None:
        keys, keyring = f"ceph-authtool {self.home}/keyring --gen-key", f"{self.home}/keyring"
        rights = " ".join(f"--cap {part} 'allow *'" for part in ("mon", "osd", "mds", "mgr"))
        address = "[v2:10.77.0.1:3300,v1:10.77.0.1:6789]"
        for command in (
            f"{keys} --create-keyring -n mon. --cap mon 'allow *'",
            f"{keys} -n client.admin {rights}",
            f"monmaptool --create --clobber --fsid {self.identity} --addv a '{address}' {self.home}/monmap",
            f"ceph-mon -c {self.home}/conf --mkfs -i a --monmap {self.home}/monmap --keyring {keyring}",
        ):
            self.rack.on("h1", command, timeout=120)

    def daemon(self, program: str, name: str) -> None:
        out = f"{self.home}/log/{program}.out"
        self.rack.on("h1", f"setsid {program} -c {self.home}/conf -i {name} -f >{out} 2>&1 </dev/null &")

    def ceph(self, command: str) -> str:
        return self.rack.on("h1", f"timeout 175 ceph -c {self.home}/conf {command}", timeout=180)

    def wait_for(self, command: str, text: str) -> None:
        end = time.time() + 120
        while text not in self.ceph(command):
            if time.time() > end:
                raise RuntimeError(f"ceph {command}: {self.ceph('-s')}")
            time.sleep(0.5)

    def mount(self, host: str) -> None:
        out = f"{self.home}/log/fuse.{host}.out"
        self.rack.on(
            host,
            f"setsid ceph-fuse -c {self.home}/conf --id admin -f {self.rack.shared} >{out} 2>&1 </dev/null &",
        )


ALL = {kind.name: kind for kind in (Ext4, Fuse, FuseThrough, GlusterStrict, Gluster, GlusterDistribute, MooseFS, Ceph)}
