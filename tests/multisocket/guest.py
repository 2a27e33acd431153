# SPDX-License-Identifier: MIT
"""The emulated machine: a distribution kernel that is unpacked and never installed, an initramfs written here, and QEMU without
hardware help, so that it is the same four sockets on every host."""
import io
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "reclaimbench"

# Both have the serial console and the initramfs built in; Debian's is the smaller by far. Whichever the apt sources know.
KERNEL_PACKAGES = ("linux-image-cloud-amd64", "linux-image-virtual")

LIBRARY_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib")
ALLOCATORS = ("libjemalloc.so*", "libtcmalloc.so*", "libtcmalloc_minimal.so*", "libmimalloc.so*")

SOCKETS, UNITS_PER_SOCKET, MEMORY_MB = 4, 4, 1024


class Unavailable(Exception):
    """What this host lacks, in a sentence."""


def need(program, package):
    path = shutil.which(program)
    if path is None:
        raise Unavailable(f"{program} is not installed (package {package})")
    return path


def output(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        last = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise Unavailable(f"`{' '.join(map(str, command))}` says: {last}")
    return done.stdout


def check_tools():
    for program, package in (("qemu-system-x86_64", "qemu-system-x86"), ("busybox", "busybox-static"),
                             ("apt-get", "apt"), ("dpkg-deb", "dpkg")):
        need(program, package)


# ---- kernel ----

def newest_package():
    """The image package that a metapackage stands for today, and its version."""
    reasons = []
    for meta in KERNEL_PACKAGES:
        try:
            image = re.search(r"Depends: (linux-image-\d\S+)", output("apt-cache", "depends", meta))
            if image:
                version = re.search(r"^Version: (\S+)", output("apt-cache", "show", "--no-all-versions", image[1]), re.M)
                return image[1], version[1]
            reasons.append(f"{meta} depends on no image")
        except Unavailable as reason:
            reasons.append(str(reason))
    raise Unavailable("; ".join(reasons))


def unpack_kernel(deb, target):
    """Only the kernel itself; its modules are not needed, and would be 90 MB."""
    archive = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            if member.isfile() and "/boot/vmlinuz" in member.name:
                partial = target.with_suffix(".partial")
                partial.write_bytes(files.extractfile(member).read())
                partial.replace(target)
                return
    raise Unavailable(f"{deb.name} holds no kernel")


def kernel():
    CACHE.mkdir(parents=True, exist_ok=True)
    cached = sorted(CACHE.glob("kernel-linux-image-*"), key=lambda path: path.stat().st_mtime)
    try:
        package, version = newest_package()
        target = CACHE / f"kernel-{package}_{version.replace(':', '.')}"
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=CACHE) as folder:
                output("apt-get", "download", f"{package}={version}", cwd=folder)
                unpack_kernel(next(pathlib.Path(folder).glob("*.deb")), target)
        return target
    except Unavailable:
        if cached:
            return cached[-1]
        raise


# ---- initramfs ----

class Initramfs:
    """A cpio archive in the `newc` format, which is what the kernel reads, written without root and without cpio."""

    def __init__(self):
        self.data, self.names = bytearray(), set()
        self.add("dev", 0o040755)
        self.add("dev/console", 0o020600, device=(5, 1))

    def add(self, name, mode, content=b"", device=(0, 0)):
        if name in self.names:
            return
        parent = os.path.dirname(name)
        if parent:
            self.add(parent, 0o040755)
        self.names.add(name)
        fields = (len(self.names), mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(name) + 1, 0)
        self.data += b"070701" + b"".join(b"%08x" % field for field in fields)
        for part in (name.encode() + b"\0", content):
            self.data += part + bytes(-(len(self.data) + len(part)) % 4)

    def add_file(self, path, name=None):
        path = pathlib.Path(path)
        self.add((name or str(path)).lstrip("/"), 0o100755, path.read_bytes())

    def finish(self, path):
        self.add("TRAILER!!!", 0)
        path.write_bytes(self.data)


def libraries(program):
    """Absolute paths of what the dynamic linker would load for it."""
    return re.findall(r"(/\S+) \(0x", output("ldd", program))


def allocators():
    folders = [pathlib.Path(folder) for folder in LIBRARY_FOLDERS]
    return [path for folder in folders for pattern in ALLOCATORS for path in sorted(folder.glob(pattern))]


def write_initramfs(binary, path):
    archive = Initramfs()
    archive.add_file(HERE / "init", "init")
    archive.add_file(need("busybox", "busybox-static"), "bin/busybox")
    archive.add_file(binary, "reclaimbench")
    for needed in libraries(binary):
        archive.add_file(needed)
    for allocator in allocators():
        if allocator.is_symlink():
            archive.add(str(allocator).lstrip("/"), 0o120777, os.readlink(allocator).encode())
        else:
            archive.add_file(allocator)
            for needed in libraries(allocator):
                archive.add_file(needed)
    archive.finish(path)


# ---- machine ----

def command_line(siblings, image, initramfs):
    """siblings: units a core. Only under this vendor's name does QEMU give its `max` processor siblings."""
    command = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-machine", "q35", "-cpu", "max,vendor=GenuineIntel",
               "-m", str(MEMORY_MB), "-smp", f"{SOCKETS * UNITS_PER_SOCKET},sockets={SOCKETS},"
               f"cores={UNITS_PER_SOCKET // siblings},threads={siblings}"]
    for node in range(SOCKETS):
        first = node * UNITS_PER_SOCKET
        command += ["-object", f"memory-backend-ram,id=m{node},size={MEMORY_MB // SOCKETS}M",
                    "-numa", f"node,nodeid={node},memdev=m{node},cpus={first}-{first + UNITS_PER_SOCKET - 1}"]
    # A huge page is one grain of an interleaved policy: with a few of them, shares are uneven and prove nothing.
    kernel_options = "console=ttyS0 quiet loglevel=0 panic=-1 mitigations=off random.trust_cpu=on transparent_hugepage=never"
    return command + ["-kernel", str(image), "-initrd", str(initramfs), "-nodefaults", "-nographic", "-no-reboot",
                      "-serial", "stdio", "-append", kernel_options]


def sections(console):
    """NAME -> (exit status, lines) of everything that init finished."""
    found = {}
    for name, body, status in re.findall(r"@@begin (\S+)\n(.*?)@@end \1 (\d+)", console, re.S):
        found[name] = (int(status), body.splitlines())
    return found


def boot(binary, siblings, timeout):
    """Runs the machine to its end and returns its sections and the whole console."""
    image = kernel()
    with tempfile.TemporaryDirectory() as folder:
        initramfs = pathlib.Path(folder) / "initramfs"
        write_initramfs(binary, initramfs)
        try:
            done = subprocess.run(command_line(siblings, image, initramfs), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=timeout, check=False)
            console = done.stdout
        except subprocess.TimeoutExpired as late:
            console = late.stdout or b""
    console = console.decode(errors="replace").replace("\r", "")
    return sections(console), console
