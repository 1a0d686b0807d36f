"""A Java virtual machine of the test's own, and a program for it, made without a compiler.

The program (class Marks) takes a number N and then collects garbage N times, starts and joins N
threads, sleeps N times for 10 ms, and calls a method N times. It is written as a class file of
version 49, the last that needs no stack maps (Java Virtual Machine Specification, chapter 4).
"""

import functools
import glob
import os
import re
import shutil
import struct
import subprocess
import tempfile

LIBRARY = "lib/server/libjvm.so"
SLEEP_SECONDS = 0.010
UTF8, CLASS, METHOD, NAME_AND_TYPE = 1, 7, 10, 12
PUBLIC_STATIC = 0x0009


class Pool:
    """A class file's constants: each add returns its index, which begins at 1."""

    def __init__(self):
        self.entries = {}

    def add(self, entry):
        return self.entries.setdefault(entry, len(self.entries) + 1)

    def utf8(self, text):
        return self.add(struct.pack(">BH", UTF8, len(text)) + text.encode())

    def type(self, name):
        return self.add(struct.pack(">BH", CLASS, self.utf8(name)))

    def method(self, owner, name, signature):
        pair = struct.pack(">BHH", NAME_AND_TYPE, self.utf8(name), self.utf8(signature))
        return self.add(struct.pack(">BHH", METHOD, self.type(owner), self.add(pair)))


def repeat(body):
    """Code that runs `body` as often as local 1 says, counting down in local 2."""
    return (b"\x1b\x3d"                                        # iload_1, istore_2
            b"\x1c\x9e" + struct.pack(">h", len(body) + 9)     # iload_2, ifle to the end
            + body + b"\x84\x02\xff"                           # iinc 2 by -1
            + b"\xa7" + struct.pack(">h", -len(body) - 7))     # goto iload_2


def code_of_main(pool):
    def call(opcode, *method):
        return opcode + struct.pack(">H", pool.method(*method))

    static, virtual, special = b"\xb8", b"\xb6", b"\xb7"
    thread = "java/lang/Thread"
    return (
        b"\x2a\x03\x32" + call(static, "java/lang/Integer", "parseInt", "(Ljava/lang/String;)I")
        + b"\x3c"                                              # aload_0, iconst_0, aaload; istore_1
        + repeat(call(static, "java/lang/System", "gc", "()V"))
        + repeat(b"\xbb" + struct.pack(">H", pool.type(thread)) + b"\x59"  # new, dup
                 + call(special, thread, "<init>", "()V") + b"\x59"
                 + call(virtual, thread, "start", "()V") + call(virtual, thread, "join", "()V"))
        + repeat(struct.pack(">BBB", 0x10, int(SLEEP_SECONDS * 1000), 0x85)  # bipush, i2l
                 + call(static, thread, "sleep", "(J)V"))
        + repeat(call(static, "Marks", "leaf", "()V"))
        + b"\xb1")                                             # return


def method(pool, name, signature, code, stack, local):
    attribute = struct.pack(">HHI", stack, local, len(code)) + code + struct.pack(">HH", 0, 0)
    return (struct.pack(">HHHH", PUBLIC_STATIC, pool.utf8(name), pool.utf8(signature), 1)
            + struct.pack(">HI", pool.utf8("Code"), len(attribute)) + attribute)


def class_file():
    pool = Pool()
    methods = (method(pool, "main", "([Ljava/lang/String;)V", code_of_main(pool), 3, 3)
               + method(pool, "leaf", "()V", b"\xb1", 0, 0))
    this, parent = pool.type("Marks"), pool.type("java/lang/Object")
    return (struct.pack(">IHHH", 0xCAFEBABE, 0, 49, len(pool.entries) + 1)
            + b"".join(pool.entries)
            + struct.pack(">HHHHHH", 0x0021, this, parent, 0, 0, 2) + methods
            + struct.pack(">H", 0))


@functools.lru_cache(None)
def home():
    """The folder of an installed Java that has USDT sites; the oldest one. None if there is none."""
    found = [os.path.dirname(os.path.dirname(os.path.dirname(library))) for library in
             glob.glob(f"/usr/lib/jvm/java-*-openjdk-*/{LIBRARY}")
             if b"stapsdt" in subprocess.run(["readelf", "-n", library], capture_output=True,
                                             check=False).stdout]
    version = re.compile(r"java-(?:1\.)?(\d+)")
    return min(found, key=lambda path: int(version.search(path).group(1)), default=None)


class Java:
    """It runs from a folder of links, so that the library alone is a copy, and only ours is
    probed."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="uprobe-test-java-")
        for inside in ("bin", "lib/server"):
            os.makedirs(os.path.join(self.folder, inside))
        for name in ("conf", "lib/*", "lib/server/*"):
            for path in glob.glob(os.path.join(home(), name)):
                link = os.path.join(self.folder, os.path.relpath(path, home()))
                if not os.path.exists(link):
                    os.symlink(path, link)
        self.library = os.path.join(self.folder, LIBRARY)
        os.unlink(self.library)
        shutil.copy(os.path.join(home(), LIBRARY), self.library)
        shutil.copy(os.path.join(home(), "bin/java"), os.path.join(self.folder, "bin"))
        with open(os.path.join(self.folder, "Marks.class"), "wb") as out:
            out.write(class_file())

    def run(self, n, *options):
        """Run the program to its end: {tag: [line]} of what the machine logs of itself.

        -Xrs leaves out the thread for signals, which is told to end as the process ends: whether
        it comes to its thread__stop is chance.
        """
        log = os.path.join(self.folder, "log")
        if os.path.exists(log):
            os.unlink(log)
        subprocess.run(
            [os.path.join(self.folder, "bin/java"), "-Xmx64m", "-Xrs",
             f"-Xlog:gc,safepoint,class+load:file={log}:tags", *options, "-cp",
             self.folder, "Marks", str(n)],
            check=True, timeout=300, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        found = {}
        with open(log, encoding="utf-8") as lines:
            for line in lines:
                tags, said = re.match(r"\[([\w,]+) *\] ?(.*)", line).groups()
                found.setdefault(tags, []).append(said)
        return found

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
