#!/usr/bin/python3
"""Deployments as `roost` sees them (client/deployment.h): real servers behind the driver, and peers that mean ill or are no servers at all."""
import contextlib
import os
import queue
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

from cluster import cluster_port, owners
from servers import PATIENCE, ROOT, Server, Speaker, caught_up, free_port, replicate, run, server, servers, wait_for

DRIVER = os.environ.get("ROOST_DRIVER", os.path.join(ROOT, "build", "tests", "deployment-driver"))
ROOST = os.environ.get("ROOST", os.path.join(ROOT, "build", "roost"))
NEEDS = "needs=ROOST.DELTA"
PASSWORD = "se cr:e/t@%41"
ESCAPED = "se%20cr%3Ae%2Ft%40%2541"


class Driver:
    """What the driver says is kept, and waited for in any order; a line that begins with "wrong" fails the test."""

    def __init__(self, url, *options, needs=NEEDS, environment=None):
        self.process = subprocess.Popen([DRIVER, url, *options, needs], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, errors="replace", env={**os.environ, **(environment or {})})
        self.lines, self.output, self.errors, self.asked, self.ended = [], queue.Queue(), [], 0, False
        threading.Thread(target=self.read, daemon=True).start()
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()
        self.wait("begun ")

    def read(self):
        for line in self.process.stdout:
            self.output.put(line.rstrip("\n"))
        self.output.put(None)

    def wait(self, begin):
        """Takes the first line that begins so out of what was said."""
        end = time.monotonic() + PATIENCE
        while True:
            for i, line in enumerate(self.lines):
                if line.startswith(begin):
                    return self.lines.pop(i)
            try:
                line = self.output.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"waited in vain for {begin!r}; there is {self.lines[-20:]}") from None
            assert line is not None, f"the driver ended before it said {begin!r}: {self.lines[-20:]} {''.join(self.errors)}"
            assert not line.startswith("wrong"), line
            self.lines.append(line)

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def begin(self, *words, database=0, key="k"):
        self.asked += 1
        self.say(f"ask {self.asked} {database} {key} {' '.join(str(w) for w in words)}")
        return self.asked

    def ask(self, *words, database=0, key="k"):
        number = self.begin(*words, database=database, key=key)
        return self.answer(number)

    def answer(self, number):
        """What was answered: "integer 5", or "unanswered ..."."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for i, line in enumerate(self.lines):
                for kind in "answer ", "unanswered ":
                    if line.startswith(f"{kind}{number} "):
                        self.lines.pop(i)
                        return line[len(f"{kind}{number} "):] if kind == "answer " else "unanswered " + line[len(f"{kind}{number} "):]
            self.wait_for_more(end)
        raise AssertionError(f"no answer to {number}; there is {self.lines[-20:]}")

    def wait_for_more(self, end):
        try:
            line = self.output.get(timeout=max(0.01, end - time.monotonic()))
        except queue.Empty:
            return
        assert line is not None and not line.startswith("wrong"), (line, self.lines[-20:], "".join(self.errors))
        self.lines.append(line)

    def wait_on(self, node, *words):
        self.asked += 1
        self.say(f"wait {self.asked} {node} {' '.join(words)}")
        return self.asked

    def end(self):
        if self.process.poll() is None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("the driver does not end") from None
        while not self.ended:
            line = self.output.get(timeout=PATIENCE)
            assert line is None or not line.startswith("wrong"), line
            self.ended = line is None
            self.lines += [] if self.ended else [line]
        assert status == 0, (status, "".join(self.errors))
        return self.lines


@contextlib.contextmanager
def driver(url, *options, **how):
    d = Driver(url, *options, **how)
    try:
        yield d
        d.end()
    finally:
        if d.process.poll() is None:
            d.process.kill()
            d.process.wait()


def with_port(*options, **how):
    return server(*options, port=free_port(), **how)


def url_of(s, login=""):
    return f"redis://{login}127.0.0.1:{s.port}"


# ---- one server ----

def test_a_server_alone():
    with with_port() as s, driver(url_of(s)) as d:
        d.wait(f"up 127.0.0.1:{s.port}")
        assert d.ask("SET", "k", "v") == "status OK"
        assert d.ask("GET", "k") == "string v"
        assert d.ask("ROOST.ADD", "k", "v").startswith("error WRONGTYPE")
        numbers = [d.begin("INCR", "n") for _ in range(500)]
        assert [d.answer(n) for n in numbers] == [f"integer {i + 1}" for i in range(500)]
        assert d.ask("SET", "large", "=1000000") == "status OK"
        numbers = [d.begin("APPEND", "large", "=700000") for _ in range(20)] + [d.begin("GET", "large") for _ in range(5)]
        assert [d.answer(n) for n in numbers][-6:] == ["integer 15000000"] + ["string 15000000 bytes"] * 5
        name = [c["name"] for c in s.client.client_list() if c["name"]]
        assert name == ["roost-link"], name
        lines = d.end()
    bytes_line = next(line for line in lines if line.startswith("bytes")).split()
    assert int(bytes_line[1]) > 15_000_000 and int(bytes_line[2]) > 75_000_000, bytes_line
    assert "end" in lines


def test_databases():
    with with_port() as s, driver(url_of(s)) as d:
        d.wait("up ")
        numbers = [d.begin("RPUSH", "list", i, database=i % 3) for i in range(300)]
        assert all(d.answer(n).startswith("integer") for n in numbers)
        for database in range(3):
            s("SELECT", database)
            assert [int(i) for i in s("LRANGE", "list", 0, -1)] == list(range(database, 300, 3)), "each in its place, in order"
        first, refused, last = d.begin("GET", "x"), d.begin("SET", "x", "1", database=77), d.begin("GET", "x")
        assert (d.answer(first), d.answer(last)) == ("nil ", "nil ")
        assert d.answer(refused).startswith("error ERR DB index is out of range")
        s("SELECT", 0)
        assert s("EXISTS", "x") == 0


def test_commands_that_wait():
    with with_port() as s, driver(url_of(s)) as d:
        node = d.wait("up ")[3:]
        number = d.wait_on(node, "BLPOP", "queue", "0")
        assert d.ask("PING") == "status PONG", "the others go on"
        s("RPUSH", "queue", "x")
        assert d.answer(number) == "array 2"
        d.say("again")
        number = d.wait_on(node, "BLPOP", "queue", "0")
        wait_for(lambda: s.client.info("clients")["blocked_clients"] == 1, "the command to wait")
        s("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        assert d.answer(number).startswith(f"unanswered {node}: "), "the connection broke"
        d.answer("again")  # asked within the error: by whoever comes next, or with the error of the other connection
        d.wait(f"down {node}"), d.wait("sick "), d.wait(f"up {node}"), d.wait("well")
        assert d.ask("PING") == "status PONG"


def test_a_server_that_goes_and_comes():
    with with_port("--appendonly", "yes", "--appendfsync", "always") as s, driver(url_of(s)) as d:
        d.wait("up ")
        assert d.ask("SET", "k", "v") == "status OK"
        s.kill()
        d.wait("down "), d.wait("sick ")
        number = d.begin("GET", "k")
        s.start()
        assert d.answer(number) in ("string v", f"unanswered 127.0.0.1:{s.port}: Connection refused")
        d.wait("up "), d.wait("well")
        assert d.ask("GET", "k") == "string v"


def test_closing_from_within():
    with with_port() as s, driver(url_of(s)) as d:
        d.wait("up ")
        d.say("close\n" + "\n".join(f"ask {i} 0 k PING" for i in range(50)))
        d.wait("end")
        lines = d.end()
        assert "answer 0 status PONG" in lines
        numbers = [int(line.split()[1]) for line in lines if line.startswith(("answer", "unanswered"))]
        assert len(numbers) > 1 and sorted(numbers) == list(range(len(numbers))), "each once"


# ---- who we are ----

def test_logins():
    with with_port() as s:
        s("CONFIG", "SET", "requirepass", PASSWORD)
        s("ACL", "SETUSER", "link", "on", f">{PASSWORD}2", "~*", "+@all")
        where = f"127.0.0.1:{s.port}"
        with driver(f"redis://:{ESCAPED}@{where}") as d:
            d.wait("up ")
            assert d.ask("ACL", "WHOAMI") == "string default"
            listed = open(f"/proc/{d.process.pid}/cmdline").read()
            assert where in listed and ESCAPED not in listed and ":" + "*" * len(ESCAPED) + "@" in listed, listed
        with driver(f"redis://link:{ESCAPED}2@{where}") as d:
            d.wait("up ")
            assert d.ask("ACL", "WHOAMI") == "string link"
        with driver(f"redis://{where}", environment={"ROOST_PASSWORD": PASSWORD + "2", "ROOST_USER": "link"}) as d:
            d.wait("up ")
            assert d.ask("ACL", "WHOAMI") == "string link"
        for wrong in f"redis://:{ESCAPED}x@{where}", f"redis://link:{ESCAPED}@{where}", f"redis://stranger:{ESCAPED}@{where}":
            with driver(wrong) as d:
                d.wait(f"sick {where}: wrong user or password (WRONGPASS)")
        with driver(f"redis://{where}") as d:
            d.wait(f"sick {where}: the server asks for a password: set ROOST_PASSWORD or give a password file")
            s("CONFIG", "SET", "requirepass", "")
            d.wait("up "), d.wait("well")
        with driver(f"redis://:needless@{where}") as d:
            d.wait("up ")


def secrets_file(folder, text, mode=0o600):
    path = os.path.join(folder, "secrets")
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def refusal(*words):
    result = subprocess.run([DRIVER, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    assert result.returncode == 2 and result.stderr.count("\n") == 1 and PASSWORD not in result.stderr and ESCAPED not in result.stderr, result
    return result.stderr


def test_a_file_with_passwords():
    with with_port() as s:
        s("CONFIG", "SET", "requirepass", PASSWORD)
        s("ACL", "SETUSER", "link", "on", f">{PASSWORD}2", "~*", "+@all")
        where = f"redis://127.0.0.1:{s.port}"
        lines = f"# ours\n\nredis://127.0.0.1:1 nothing\n{where} {PASSWORD}\nredis://link@127.0.0.1:{s.port}  {PASSWORD}2\n"
        path = secrets_file(s.folder, lines)
        with driver(f"redis://link@127.0.0.1:{s.port}", "secrets=" + path) as d:
            d.wait("up ")
            assert d.ask("ACL", "WHOAMI") == "string link"
        path = secrets_file(s.folder, f"{where} {PASSWORD}\n")
        with driver(where, "secrets=" + path, environment={"ROOST_PASSWORD": "not this one"}) as d:
            d.wait("up ")
            assert d.ask("ACL", "WHOAMI") == "string default"
        assert "chmod 600" in refusal(where, "secrets=" + secrets_file(s.folder, lines, 0o640))
        for text in "redis://\n", f"{where}\n", f"host {PASSWORD}\n", f"redis://:{ESCAPED}@h {PASSWORD}\n", f"{where}/key {PASSWORD}\n":
            assert "line 2: expected" in refusal(where, "secrets=" + secrets_file(s.folder, "\n" + text))
        assert "No such file" in refusal(where, f"secrets={s.folder}/none")


def test_urls_that_are_none():
    for url in "", "redis", "http://host", "redis:/host", "redis://host:x", "redis://host:0", "redis://host:65536", "redis://host:+1", "redis://[::1", "redis://[::1]x":
        assert "a region is redis://" in refusal(url), url
    assert "without a path" in refusal(f"redis://me:{ESCAPED}@host/key")
    assert "a region is" in refusal(f"redis://me:{ESCAPED}@host:port")


# ---- TLS ----

def openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=PATIENCE)


def certificate(folder, name, subject):
    """Signed by ca.pem, good for the subject ("IP:127.0.0.1", "DNS:...")."""
    with open(os.path.join(folder, name + ".ext"), "w") as file:
        file.write(f"subjectAltName={subject}\n")
    openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", name + ".key", "-out", name + ".csr", "-subj", f"/CN={name}")
    openssl(folder, "x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", name + ".ext", "-out", name + ".pem")


def authority(folder, name="ca"):
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", name + ".key", "-out", name + ".pem", "-days", "2", "-subj", f"/CN={name}")


def start_tls(folder, name, clients):
    """Somebody else may be faster and take the port."""
    for _ in range(20):
        port = free_port()
        try:
            s = Server("--tls-port", str(port), "--tls-cert-file", f"{folder}/{name}.pem", "--tls-key-file", f"{folder}/{name}.key",
                       "--tls-ca-cert-file", f"{folder}/ca.pem", "--tls-auth-clients", clients, "--tls-replication", "yes")
        except AssertionError:
            continue
        s.tls_port = port
        return s
    raise AssertionError("no server with TLS")


def tls_server(folder, name, clients="no"):
    return servers(lambda: start_tls(folder, name, clients))


def sync_with_a_key(folder, key, *options, **environment):
    path = os.path.join(folder, "a.roost")
    for words, text in (("create", path, "--capacity", "1000", "--force"), None), (("add", path), "swift\n"), (("sync", path, key, *options), None):
        done = subprocess.run([ROOST, *words], input=text, text=True, capture_output=True, timeout=PATIENCE, env={**os.environ, **environment})
        if done.returncode != 0:
            return done.stderr


def test_tls():
    folder = tempfile.mkdtemp(prefix="roost-")
    try:
        authority(folder), authority(folder, "other")
        certificate(folder, "address", "IP:127.0.0.1"), certificate(folder, "elsewhere", "DNS:elsewhere.example")
        certificate(folder, "named", "DNS:localhost"), certificate(folder, "client", "DNS:client")
        ca = f"ca={folder}/ca.pem"
        with tls_server(folder, "address") as s:
            port, where = s.tls_port, f"rediss://127.0.0.1:{s.tls_port}"
            s("CONFIG", "SET", "requirepass", PASSWORD)
            with driver(f"rediss://:{ESCAPED}@127.0.0.1:{port}", ca) as d:
                d.wait("up ")
                assert d.ask("SET", "k", "=1000000") == "status OK"
                numbers = [d.begin("APPEND", "k", "=300000") for _ in range(5)] + [d.begin("GET", "k") for _ in range(5)]
                assert [d.answer(n) for n in numbers][-6:] == ["integer 2500000"] + ["string 2500000 bytes"] * 5
                sent, received = map(int, next(line for line in d.end() if line.startswith("bytes")).split()[1:])
                assert 2_500_000 < sent < 2_600_000 and 12_500_000 < received < 13_000_000, (sent, received)
            sync_with_a_key(folder, f"{where}/filter", ROOST_PASSWORD=PASSWORD, SSL_CERT_FILE=f"{folder}/ca.pem")
            assert s("ROOST.EXISTS", "filter", "swift") == [1]
            said = sync_with_a_key(folder, f"{where}/cacert", "--cacert", f"{folder}/ca.pem", ROOST_PASSWORD=PASSWORD)
            assert not said and s("ROOST.EXISTS", "cacert", "swift") == [1], said
            with open(f"{folder}/passwords", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(f"{where} {PASSWORD}\n")
            said = sync_with_a_key(folder, f"{where}/filed", "--cacert", f"{folder}/ca.pem", "--password-file", f"{folder}/passwords")
            assert not said and s("ROOST.EXISTS", "filed", "swift") == [1], said
            said = sync_with_a_key(folder, f"{where}/filter")
            assert f"roost: {where}/filter: its certificate is not trusted: " in said and "; --cacert names the authority to trust" in said, said
            said = sync_with_a_key(folder, f"{where}/filter", "--cacert", f"{folder}/ca.key")
            assert said.startswith(f"roost: {folder}/ca.key: contains no usable certificates"), said
            said = sync_with_a_key(folder, f"{where}/insecure", "--insecure", ROOST_PASSWORD=PASSWORD)
            assert not said and s("ROOST.EXISTS", "insecure", "swift") == [1], said
            with driver(where, f"ca={folder}/other.pem") as d:
                d.wait(f"sick 127.0.0.1:{port}: its certificate is not trusted: ")
            with driver(where) as d:
                d.wait(f"sick 127.0.0.1:{port}: its certificate is not trusted: ")  # the system does not know it
            with driver(f"redis://127.0.0.1:{port}") as d:
                d.wait(f"sick 127.0.0.1:{port}: ")
            assert "no usable certificates" in refusal(where, f"ca={folder}/ca.key") and "No such file or directory" in refusal(where, f"ca={folder}/none")
        with tls_server(folder, "elsewhere") as s:
            port, where = s.tls_port, f"rediss://127.0.0.1:{s.tls_port}"
            with driver(where, ca) as d:
                d.wait(f"sick 127.0.0.1:{port}: its certificate is for another host")
            with driver(where, "insecure") as d:
                d.wait("up ")
        with tls_server(folder, "named", clients="yes") as s:
            port = s.tls_port
            with driver(f"rediss://localhost:{port}", ca, f"certificate={folder}/client.pem", f"key={folder}/client.key") as d:
                d.wait("up ")
            with driver(f"rediss://localhost:{port}", ca) as d:
                d.wait(f"sick localhost:{port}: ")
            key, ours = f"rediss://localhost:{port}/key", ("--cert", f"{folder}/client.pem", "--key", f"{folder}/client.key")
            said = sync_with_a_key(folder, key, "--cacert", f"{folder}/ca.pem", *ours)
            assert not said and s("ROOST.EXISTS", "key", "swift") == [1], said
            without = [sync_with_a_key(folder, key, "--cacert", f"{folder}/ca.pem") for _ in range(20)]  # or the end of the connection is seen first
            assert all(without) and any("the server wants a certificate: --cert and --key" in said for said in without), without
        with tls_server(folder, "named") as primary, tls_server(folder, "named") as replica:
            replica("REPLICAOF", "127.0.0.1", primary.tls_port)
            with driver(f"rediss://localhost:{replica.tls_port}", ca) as d:
                d.wait(f"up 127.0.0.1:{primary.tls_port}")  # told as an address, with a certificate for the host in the URL
        with with_port() as s, driver(f"rediss://127.0.0.1:{s.port}", ca) as d:
            # A server without TLS takes what it gets for a command if it has the end of a line, and waits for that if not.
            assert "is this its port for TLS?" in d.wait(f"sick 127.0.0.1:{s.port}: ")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ---- the module ----

def test_the_module():
    with with_port(module=False) as s, driver(url_of(s)) as d:
        d.wait(f"sick 127.0.0.1:{s.port}: the server has not loaded the module roost.so")
    with with_port() as s:
        with driver(url_of(s), needs="needs=ROOST.TOMORROW") as d:
            d.wait(f"sick 127.0.0.1:{s.port}: its module roost.so is too old: it does not know ROOST.TOMORROW")


# ---- a primary and its replicas ----

def test_a_replica_is_promoted():
    with servers(*[lambda: Server(port=free_port())] * 3) as (a, b, c):
        replicate(b, a), replicate(c, a)
        wait_for(lambda: len(a("ROLE")[2]) == 2, "the primary to know both")
        with driver(url_of(b)) as d:
            d.wait(f"up 127.0.0.1:{a.port}")
            assert d.ask("SET", "k", "v") == "status OK"
            caught_up(b, a), caught_up(c, a)
            a.kill()
            d.wait(f"down 127.0.0.1:{a.port}")
            number = d.begin("SET", "later", "v")
            c("REPLICAOF", "NO", "ONE")
            d.wait(f"up 127.0.0.1:{c.port}"), d.wait("well")
            assert d.ask("GET", "k") == "string v"
            d.answer(number)
            replicate(b, c)
            # c hands over to b without a word
            b("REPLICAOF", "NO", "ONE"), replicate(c, b)
            assert d.ask("SET", "k", "w") == "status OK", "READONLY leads to the new primary"
            d.wait(f"down 127.0.0.1:{c.port}"), d.wait(f"up 127.0.0.1:{b.port}"), d.wait("well")
            assert b("GET", "k") == b"w"
        a.start()


# ---- a cluster ----

def node():
    return Server("--cluster-enabled", "yes", "--cluster-node-timeout", "1500", "--cluster-replica-validity-factor", "0", "--shutdown-timeout", "0",
                  port=cluster_port())


def make_cluster(nodes, replicas):
    subprocess.run(["redis-cli", "--cluster", "create", *[f"127.0.0.1:{s.port}" for s in nodes], "--cluster-replicas", str(replicas), "--cluster-yes"],
                   check=True, stdout=subprocess.DEVNULL, timeout=300)
    for s in nodes:
        wait_for(lambda: b"cluster_state:ok" in s("CLUSTER", "INFO"), "the cluster")


def myself(s):
    return s("CLUSTER", "MYID").decode()


def test_a_cluster():
    with servers(*[node] * 4) as nodes:
        primaries, replica = nodes[:3], nodes[3]
        make_cluster(primaries, 0)
        with driver(url_of(primaries[1])) as d:
            assert {d.wait("up ") for _ in range(3)} == {f"up 127.0.0.1:{s.port} cluster" for s in primaries}
            keys = [f"key-{i}" for i in range(60)]
            numbers = [d.begin("SET", key, key, key=key) for key in keys]
            assert {d.answer(n) for n in numbers} == {"status OK"}
            counts = [s("DBSIZE") for s in primaries]
            assert sum(counts) == 60 and all(counts), counts
            slot = primaries[0]("CLUSTER", "KEYSLOT", "{moving}")
            source = owners(primaries)[slot]
            target = next(s for s in primaries if s is not source)
            move_slot(d, source, target, slot)
            number = d.wait_on(f"127.0.0.1:{target.port}", "PING")
            assert d.answer(number) == "status PONG"
            fail_over(d, primaries, replica, keys)


def is_known_as_replica(s, replica):
    speak = Speaker(s, 2)
    try:
        lines = speak("CLUSTER", "NODES").decode().splitlines()
    finally:
        speak.close()
    return any(f":{replica.port}@" in line and "slave" in line for line in lines)


def move_slot(d, source, target, slot):
    assert d.ask("SET", "{moving}a", "1", key="{moving}a") == "status OK"
    target("CLUSTER", "SETSLOT", slot, "IMPORTING", myself(source)), source("CLUSTER", "SETSLOT", slot, "MIGRATING", myself(target))
    assert d.ask("SET", "{moving}b", "2", key="{moving}b") == "status OK", "ASK leads to the other"
    assert d.ask("GET", "{moving}a", key="{moving}a") == "string 1"
    number = d.begin("MGET", "{moving}a", "{moving}b", key="{moving}a")
    time.sleep(0.3)  # it is refused with TRYAGAIN meanwhile, or is about to be
    source("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", "{moving}a")
    assert d.answer(number) == "array 2"
    for s in target, source:
        s("CLUSTER", "SETSLOT", slot, "NODE", myself(target))
    assert d.ask("GET", "{moving}a", key="{moving}a") == "string 1", "MOVED leads to the other"
    assert d.ask("GET", "{moving}b", key="{moving}b") == "string 2"


def fail_over(d, primaries, replica, keys):
    dead = primaries[1]
    replica("CLUSTER", "MEET", "127.0.0.1", primaries[0].port)
    wait_for(lambda: replica("CLUSTER", "REPLICATE", myself(dead)), "the nodes to know each other")
    wait_for(lambda: replica.client.info("replication")["master_link_status"] == "up", "the replica")
    wait_for(lambda: all(is_known_as_replica(s, replica) for s in primaries), "the others to hear of it")
    caught_up(replica, dead)
    dead.kill()
    d.wait(f"down 127.0.0.1:{dead.port}"), d.wait("sick ")
    d.wait(f"up 127.0.0.1:{replica.port} cluster"), d.wait("well")
    wait_for(lambda: [d.ask("GET", key, key=key) for key in keys] == [f"string {key}" for key in keys], "the cluster to agree")
    try:
        dead.start()
    except AssertionError as refusal:  # Valkey 8.0 may refuse the file that it wrote itself, after a death at the wrong moment
        assert "corrupted cluster config file" in str(refusal)
        os.remove(os.path.join(dead.folder, "nodes.conf"))
        dead.start()


def test_a_cluster_that_was_away():
    with servers(*[node] * 3) as nodes:
        make_cluster(nodes, 0)
        with driver(url_of(nodes[0])) as d:
            for s in nodes:
                d.wait(f"up 127.0.0.1:{s.port}")
            for s in nodes:
                s.kill()
            for s in nodes:
                d.wait(f"down 127.0.0.1:{s.port}")
            for s in nodes:
                s.start()
            for s in nodes:
                d.wait(f"up 127.0.0.1:{s.port}")
            d.wait("well")
            wait_for(lambda: d.ask("SET", "k", "v") == "status OK", "the cluster to agree")


# ---- peers that mean ill ----

class Peer:
    """Accepts on a port of its own and does what `behave` says with each connection."""

    def __init__(self, behave):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port, self.behave, self.closed, self.accepted = self.socket.getsockname()[1], behave, False, 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError), connection:
            self.behave(connection)
            while connection.recv(65536):
                pass

    def close(self):
        self.socket.close()


def sends(*pieces):
    def behave(connection):
        connection.recv(65536)
        for piece in pieces:
            connection.sendall(piece)
    return behave


def endless(piece):
    def behave(connection):
        while True:
            connection.sendall(piece)
    return behave


SICK = {
    "garbage": (sends(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "does not speak the protocol of Redis"),
    "zeroes": (endless(b"\0" * 65536), "does not speak the protocol of Redis"),
    "answers nobody asked for": (endless(b"+OK\r\n" * 1000), "a reply that no command asked for"),
    "a line without end": (endless(b"+" + b"a" * 65535), "line of more than 64 KiB"),
    "a long length": (sends(b"$" + b"1" * 40 + b"\r\n"), "larger than 1 GiB|protocol"),
    "a large string": (sends(b"$1073741825\r\n", b"x" * 1000), "larger than 1 GiB"),
    "many elements": (sends(b"*2000000000\r\n"), "million elements"),
    "many arrays": (sends(b"*1000\r\n" + b"*1000000\r\n" * 10), "million elements|nested"),
    "a negative count": (sends(b"*-7\r\n"), "million elements|protocol"),
    "a negative length": (sends(b"$-7\r\n"), "protocol"),
    "depth": (sends(b"*1\r\n" * 2000), "nested too deep"),
    "the end": (lambda connection: connection.shutdown(socket.SHUT_RDWR), "closed the connection|reset"),
    "the end within a reply": (lambda connection: (connection.sendall(b"$100\r\nabc"), connection.shutdown(socket.SHUT_WR)), "closed the connection"),
    "silence": (lambda connection: None, "no answer within"),
    "nonsense about slots": (sends(b"+OK\r\n+PONG\r\n*1\r\n*3\r\n:0\r\n:99999\r\n*2\r\n$1\r\nx\r\n:1\r\n"), "invalid slot map"),
    "a sentinel": (sends(b"+OK\r\n+PONG\r\n-ERR no\r\n*1\r\n$8\r\nsentinel\r\n"), "Sentinel"),
}


def test_peers_that_mean_ill():
    for name, (behave, expected) in SICK.items():
        peer = Peer(behave)
        try:
            with driver(f"redis://me:{ESCAPED.replace('%', '')}@127.0.0.1:{peer.port}" if "slots" not in name and "sentinel" not in name
                        else f"redis://127.0.0.1:{peer.port}", *(["patience=700"] if name == "silence" else [])) as d:
                line = d.wait(f"sick 127.0.0.1:{peer.port}: ")
                assert re.search(expected, line), (name, line)
                wait_for(lambda: peer.accepted > 1, "another attempt")
                peak = int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{d.process.pid}/status").read())[1])
                assert peak < 400_000, (name, peak)
        finally:
            peer.close()


def test_a_sync_hides_its_password():
    peer, folder = Peer(lambda connection: None), tempfile.mkdtemp(prefix="roost-")
    try:
        path = os.path.join(folder, "a.roost")
        subprocess.run([ROOST, "create", path, "--capacity", "1000"], check=True, capture_output=True, timeout=PATIENCE)
        process = subprocess.Popen([ROOST, "sync", path, f"redis://me:{ESCAPED}@127.0.0.1:{peer.port}/key"], stderr=subprocess.PIPE, text=True)
        wait_for(lambda: peer.accepted, "the program to connect")
        listed = open(f"/proc/{process.pid}/cmdline").read()
        process.terminate()
        assert ESCAPED not in process.communicate(timeout=PATIENCE)[1] and process.returncode == 2
        assert ESCAPED not in listed and f"redis://me:{'*' * len(ESCAPED)}@127.0.0.1" in listed, listed
    finally:
        peer.close()
        shutil.rmtree(folder, ignore_errors=True)


def test_an_echo_of_the_password():
    """A server that has no AUTH repeats what it does not know."""
    for reply in b"-ERR unknown command `AUTH`, with args beginning with: `secret`,\r\n", b"-secret\r\n":
        peer = Peer(sends(reply))
        try:
            with driver(f"redis://:secret@127.0.0.1:{peer.port}") as d:
                d.wait(f"sick 127.0.0.1:{peer.port}: the server does not take a user and a password")
                assert not any("secret" in line for line in d.end())
        finally:
            peer.close()


# ---- servers that follow a script ----

def bulk(text):
    return b"$%d\r\n%s\r\n" % (len(text), text.encode())


def slot_map(*owners):
    """The slots in equal parts; an owner is (host or None, port)."""
    def entry(i, host, port):
        first, last = 16384 * i // len(owners), 16384 * (i + 1) // len(owners) - 1
        return b"*3\r\n:%d\r\n:%d\r\n*2\r\n%s:%d\r\n" % (first, last, b"$-1\r\n" if host is None else bulk(host), port)
    return b"*%d\r\n" % len(owners) + b"".join(entry(i, *owner) for i, owner in enumerate(owners))


class Script(Peer):
    """A server that says what the table says: a reply, or a function of the words that gives one."""

    def __init__(self, **table):
        self.table = {"CLIENT": b"+OK\r\n", "PING": b"+PONG\r\n", "CLUSTER": b"-ERR This instance has cluster support disabled\r\n",
                      "ROLE": b"*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n", "ASKING": b"+OK\r\n", **table}
        self.heard = []
        super().__init__(self.follow)

    def follow(self, connection):
        file = connection.makefile("rb")
        while line := file.readline():
            words = []
            for _ in range(int(line[1:])):
                size = int(file.readline()[1:])
                words.append(file.read(size + 2)[:-2].decode())
            self.heard.append(words)
            reply = self.table.get(words[0], b"-ERR wrong number of arguments\r\n")
            connection.sendall(reply(words) if callable(reply) else reply)


@contextlib.contextmanager
def scripts(*peers):
    try:
        yield peers if len(peers) > 1 else peers[0]
    finally:
        for peer in peers:
            peer.close()


def test_a_server_that_loads():
    times = iter(range(3))
    with scripts(Script(PING=lambda words: b"-LOADING\r\n" if next(times, None) is not None else b"+PONG\r\n")) as peer:
        with driver(f"redis://127.0.0.1:{peer.port}") as d:
            d.wait(f"sick 127.0.0.1:{peer.port}: the server is loading its data")
            d.wait("up "), d.wait("well")


def test_a_user_who_may_not_ask_who_it_is():
    refused = b"-NOPERM this user has no permissions\r\n"
    with scripts(Script(CLUSTER=refused, ROLE=refused, CLIENT=refused, PING=refused, GET=b"+v\r\n")) as peer:
        with driver(f"redis://127.0.0.1:{peer.port}") as d:
            d.wait("up ")
            assert d.ask("GET", "k") == "status v"


def test_a_cluster_that_does_not_know_its_host():
    with scripts(Script(GET=b"+v\r\n")) as peer:
        peer.table["CLUSTER"] = slot_map((None, peer.port))
        with driver(f"redis://localhost:{peer.port}") as d:
            d.wait(f"up localhost:{peer.port} cluster")
            assert d.ask("GET", "k") == "status v"
        peer.table["CLUSTER"] = b"*0\r\n"
        with driver(f"redis://localhost:{peer.port}") as d:
            d.wait(f"sick localhost:{peer.port}: is part of a cluster in which no server has slots")
            peer.table["CLUSTER"] = slot_map(("", peer.port))
            d.wait("up "), d.wait("well")


def test_redirections_that_the_map_does_not_tell():
    with scripts(Script(), Script(GET=b"+there\r\n", SET=b"+asked\r\n")) as (here, there):
        here.table.update(CLUSTER=slot_map(("127.0.0.1", here.port)), GET=b"-MOVED 12182 127.0.0.1:%d\r\n" % there.port,
                          SET=b"-ASK 5061 127.0.0.1:%d\r\n" % there.port)
        there.table["CLUSTER"] = here.table["CLUSTER"]
        with driver(f"redis://127.0.0.1:{here.port}") as d:
            d.wait("up ")
            assert d.ask("GET", "foo", key="foo") == "status there"
            assert d.ask("SET", "bar", "v", key="bar") == "status asked"
            assert ["ASKING"] not in here.heard and there.heard[there.heard.index(["ASKING"]) + 1] == ["SET", "bar", "v"]
            assert not any(line.startswith("up") and str(there.port) in line for line in d.lines), "it is none of the primaries"


def test_replicas_of_each_other():
    def replica_of(port):
        return b"*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:%d\r\n$9\r\nconnected\r\n:0\r\n" % port
    with scripts(Script(), Script()) as (one, other):
        one.table["ROLE"], other.table["ROLE"] = replica_of(other.port), replica_of(one.port)
        with driver(f"redis://127.0.0.1:{one.port}") as d:
            d.wait(f"sick 127.0.0.1:{one.port}: none of its servers is a primary")
            del other.table["ROLE"]
            other.table["ROLE"] = b"*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
            d.wait(f"up 127.0.0.1:{other.port}"), d.wait("well")


def test_nothing_is_asked_for_ever():
    """Ten seconds each, all at the same time."""
    with scripts(Script(GET=b"-TRYAGAIN Multiple keys\r\n"), Script()) as (again, circle), socket.socket() as deaf, contextlib.ExitStack() as drivers:
        deaf.bind(("127.0.0.1", 0))  # and does not listen
        port = deaf.getsockname()[1]
        circle.table.update(CLUSTER=slot_map(("127.0.0.1", circle.port)), GET=b"-MOVED 12182 127.0.0.1:%d\r\n" % circle.port)
        places = f"127.0.0.1:{port}", f"127.0.0.1:{again.port}", f"127.0.0.1:{circle.port}", "no-such-host.invalid"
        nobody, later, around, nowhere = [drivers.enter_context(driver("redis://" + place)) for place in places]
        later.wait("up "), around.wait("up ")
        numbers = [(d, d.begin("GET", "foo", key="foo")) for d in (nobody, later, around)]
        answers = [d.answer(number) for d, number in numbers]
        assert answers == [f"unanswered 127.0.0.1:{port}: Connection refused", f"unanswered 127.0.0.1:{again.port}: refused for 10 s: TRYAGAIN",
                           f"unanswered 127.0.0.1:{circle.port}: refused for 10 s: MOVED"], answers
        assert len(circle.heard) < 500, "with pauses"
        nobody.wait(f"sick 127.0.0.1:{port}: Connection refused")
        nowhere.wait("sick no-such-host.invalid:6379: ")
        assert not [line for line in nobody.end() if line.startswith("sick")], "told once, not each time"


if __name__ == "__main__":
    run(globals())
