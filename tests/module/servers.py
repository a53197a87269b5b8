"""Real servers for tests: started on unix sockets in a folder of their own, ended by their pid; conditions are waited for.

A test is a function whose name begins with test_; run(globals()) runs those of a file in turn and prints "ok" or "not ok" lines.
What a test asserts is about the servers that it started itself. SERVER=redis|valkey, or a path, picks the program, ROOST_MODULE the module.
"""
import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

import redis

from frame import frame_of  # noqa: F401, for those who have servers

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODULE = os.environ.get("ROOST_MODULE", os.path.join(ROOT, "build", "roost.so"))
KIND = os.environ.get("SERVER", "redis")
VALKEY = os.path.join(ROOT, "build", "servers", "valkey", "usr", "bin", "valkey-server")
PROGRAM = KIND if "/" in KIND else VALKEY if KIND == "valkey" else shutil.which("redis-server") or "/usr/bin/redis-server"
PATIENCE = int(os.environ.get("ROOST_PATIENCE", "300"))  # seconds that a condition may take on a machine that is busy


def wait_for(condition, what, patience=PATIENCE):
    """Until the condition holds, which answers a true value; errors of a server that is not there yet count as false."""
    end, pause, last = time.monotonic() + patience, 0.002, None
    while time.monotonic() < end:
        try:
            result = condition()
            if result:
                return result
        except (redis.RedisError, OSError) as error:
            last = error
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    raise AssertionError(f"waited in vain for {what} ({last})")


def free_port():
    """Below those that the system gives to clients, whose connections would take it before the server does; nodes of a cluster use one that is
    10,000 higher, too."""
    while True:
        port = random.SystemRandom().randrange(10000, 22000)
        with contextlib.suppress(OSError), socket.socket() as probe, socket.socket() as bus:
            probe.bind(("127.0.0.1", port)), bus.bind(("127.0.0.1", port + 10000))
            return port


def compiled(folder, name, text):
    """A library that takes the place of functions of the C library, for LD_PRELOAD."""
    source, library = (os.path.join(folder, name + ending) for ending in (".c", ".so"))
    if not os.path.exists(library):
        with open(source, "w") as file:
            file.write(text)
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


NAME_SERVER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **addresses)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
    if (hints->ai_flags & AI_NUMERICHOST)
        return real(host, service, hints, addresses);
    while (access(getenv("NAMES"), F_OK) != 0)
        usleep(10000);
    return strstr(host, ".example") ? real("127.0.0.1", service, hints, addresses) : EAI_NONAME;
}
"""


def name_server(folder, names):
    """The environment of a program for which all names in .example are 127.0.0.1, and nobody answers while the file `names` is missing."""
    return {"LD_PRELOAD": compiled(folder, "names", NAME_SERVER), "NAMES": names,
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


WRONG_CLOCK = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long ahead(long now)
{
    static long looked, seconds;
    if (now != looked) {
        FILE *file = fopen(getenv("CLOCK_FILE"), "r");
        if (file && fscanf(file, "%ld", &seconds) == 1)
            looked = now;
        if (file)
            fclose(file);
    }
    return seconds;
}
int clock_gettime(clockid_t id, struct timespec *time)
{
    int status = (int)syscall(SYS_clock_gettime, id, time);
    if (status == 0 && id == CLOCK_REALTIME)
        time->tv_sec += ahead(time->tv_sec);
    return status;
}
int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}
time_t time(time_t *place)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (place)
        *place = now.tv_sec;
    return now.tv_sec;
}
"""


def environment_for_module(folder, leaks=1):
    """What a module under sanitizers needs of the server's process."""
    environment = dict(os.environ)
    if "sanitize" in MODULE:
        environment["LD_PRELOAD"] = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
        environment["ASAN_OPTIONS"] = f"detect_leaks={leaks}:log_path={folder}/asan:allocator_may_return_null=1:handle_sigill=2"
    return environment


class Server:
    def __init__(self, *options, program=None, port=None, module=True, folder=None, module_arguments=(), clock=0):
        short = tempfile.gettempdir() if len(tempfile.gettempdir()) < 60 else "/tmp"  # paths of sockets are short
        self.folder = folder or tempfile.mkdtemp(prefix="roost-", dir=short)
        self.options, self.program, self.port = list(options), program or PROGRAM, port
        self.module, self.module_arguments, self.process = module, module_arguments, None
        self.path = os.path.join(self.folder, "socket")
        self.begun = False
        self.set_clock(clock)
        self.start()
        self.begun = True

    def command(self):
        command = [self.program, "--port", str(self.port or 0), "--bind", "127.0.0.1", "--unixsocket", self.path,
                   "--dir", self.folder, "--save", "", "--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0",
                   "--logfile", os.path.join(self.folder, "log"), *self.options]
        if self.module:
            command += ["--loadmodule", MODULE, *self.module_arguments]
        return command

    def environment(self):
        """What a module under sanitizers needs of the server's process, and a clock that is wrong."""
        environment = environment_for_module(self.folder)
        if self.clock:
            environment["LD_PRELOAD"] = (environment.get("LD_PRELOAD", "") + " " + self.wrong_clock()).strip()
            environment["CLOCK_FILE"] = os.path.join(self.folder, "clock")
        return environment

    def start(self):
        environment = self.environment()
        for attempt in range(20):
            self.process = subprocess.Popen(self.command(), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.client = redis.Redis(unix_socket_path=self.path)
            wait_for(lambda: self.lost_its_port() or (self.alive() and self.client.ping()), f"{self.program} to start\n{self.log()}")
            if not self.lost_its_port():
                break
            if not self.begun:  # somebody else was faster; later on others know us by our port
                self.port = free_port()
            time.sleep(0.1)
        wait_for(lambda: self.client.info("persistence")["loading"] == 0, "its data")

    def set_clock(self, seconds):
        """So many seconds ahead of the machine's; a server that was started with a clock that is right keeps it."""
        self.clock = seconds
        with open(os.path.join(self.folder, "clock.new"), "w") as file:
            file.write(f"{seconds}\n")
        os.replace(os.path.join(self.folder, "clock.new"), os.path.join(self.folder, "clock"))

    def wrong_clock(self):
        """A library that puts the time off by what is in the file; looked at every now and then."""
        return compiled(self.folder, "clock", WRONG_CLOCK)

    def lost_its_port(self):
        return self.port and self.process.poll() is not None and "already in use" in self.log()

    def alive(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended with {self.process.returncode}\n{self.log()}")
        return True

    def log(self):
        try:
            with open(os.path.join(self.folder, "log"), errors="replace") as file:
                return "".join(file.readlines()[-40:])
        except OSError:
            return ""

    def kill(self):
        """As a power cut does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.client.close()

    def restart(self):
        self.kill()
        self.start()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.client.close()

    def reports(self):
        """What the sanitizers wrote. A refused allocation is not an error: the caller has to handle it."""
        found = ""
        for name in os.listdir(self.folder):
            if name.startswith("asan"):
                with open(os.path.join(self.folder, name), errors="replace") as file:
                    found += "".join(line for line in file if "WARNING: AddressSanitizer failed to allocate" not in line)
        return found.strip()

    def __call__(self, *arguments):
        return self.client.execute_command(*arguments)

    def error(self, *arguments):
        """The text of the error that a command must answer; the server lives on."""
        try:
            answer = self(*arguments)
        except redis.RedisError as error:
            assert self.client.ping()
            return str(error)
        raise AssertionError(f"{arguments} answered {answer!r} and no error")

    def digest(self, key):
        return self("ROOST.DIGEST", key).decode()


@contextlib.contextmanager
def servers(*starters):
    """Servers that end with the block, and leave no folder behind; sanitizer reports fail the test."""
    running = []
    try:
        for starter in starters:
            running.append(starter())
        yield running if len(running) > 1 else running[0]
        for server in running:
            server.alive()
    finally:
        reports = ""
        for server in running:
            server.stop()
            reports += server.reports()
            shutil.rmtree(server.folder, ignore_errors=True)
        if reports and sys.exc_info()[0]:  # which says only that the server has gone
            print(reports, flush=True)
    assert not reports, reports


def server(*options, **how):
    return servers(lambda: Server(*options, **how))


def replicate(replica, primary):
    replica("REPLICAOF", "127.0.0.1", primary.port)
    wait_for(lambda: replica.client.info("replication")["master_link_status"] == "up", "the replica")


def caught_up(replica, primary):
    offset = primary.client.info("replication")["master_repl_offset"]
    wait_for(lambda: replica.client.info("replication")["slave_repl_offset"] >= offset, "the replica to catch up")


def same_digests(one, other, keys):
    for key in keys:
        assert one.digest(key) == other.digest(key), key
        assert one("DEBUG", "DIGEST-VALUE", key) == other("DEBUG", "DIGEST-VALUE", key), key


class Speaker:
    """The protocol itself, both versions of it, for what client libraries hide."""

    def __init__(self, server, version, patience=PATIENCE):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(patience)
        self.socket.connect(server.path)
        self.file = self.socket.makefile("rb")
        if version == 3:
            self("HELLO", "3")

    def __call__(self, *arguments):
        return self.pipeline([arguments])[0]

    def pipeline(self, commands):
        """The answers to commands that are sent at once."""
        self.send(commands)
        return [self.read() for _ in commands]

    def send(self, commands):
        request = b""
        for arguments in commands:
            parts = [str(a).encode() if not isinstance(a, bytes) else a for a in arguments]
            request += b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)
        self.socket.sendall(request)

    def read(self):
        line = self.file.readline()
        if line[-2:] != b"\r\n":
            raise ConnectionError("the server hung up")
        line = line[:-2]
        kind, rest = line[:1], line[1:]
        if kind in b"+(":
            return rest.decode()
        if kind == b"-":
            return Exception(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b",":
            return float(rest)
        if kind == b"#":
            return rest == b"t"
        if kind == b"_":
            return None
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind in b"*~":
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        if kind == b"%":
            return {self.name(): self.read() for _ in range(int(rest))}
        raise AssertionError(f"the server said {line!r}")

    def name(self):
        word = self.read()
        return word.decode() if isinstance(word, bytes) else word

    def close(self):
        self.file.close()
        self.socket.close()


def run(names, seed=int(os.environ.get("ROOST_SEED", "20240607"))):
    random.seed(seed)
    print(f"# {KIND}, seed {seed}")
    failed = 0
    chosen = [a for a in sys.argv[1:] if a.startswith("test_")]
    for name, test in list(names.items()):
        if not name.startswith("test_") or (chosen and name not in chosen):
            continue
        begin = time.monotonic()
        try:
            test()
            print(f"ok {name[5:].replace('_', ' ')} ({KIND}) # {time.monotonic() - begin:.1f} s", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {name[5:].replace('_', ' ')} ({KIND})\n{traceback.format_exc()}", flush=True)
    sys.exit(failed > 0)
