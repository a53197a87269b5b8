"""A bad network on one machine: routes from a port of its own to a server, with delay, loss, partitions and resets.

One thread serves any number of routes. What passes a route takes `delay` seconds each way. Loss is what TCP makes of it: the bytes are
cut into segments, and one that is lost holds up all that follows in its direction: for a round trip where enough follows, else for a
retransmission time, twice as long for one that is lost again. Nothing is ever missing or out of order. A route can be

    open        bytes pass
    stalled     connections stand and can be made, nothing passes until it opens again: cables cut
    refused     connections are reset and cannot be made: nobody there

and all its connections can be reset at any moment, with what is under way in them. A route asks for its server's port whenever a
connection is made, so one route can stand for "whoever is primary now".

Chance comes from the seed alone; when things happen depends on the machine.

    proxy = Proxy(seed=7, delay=0.1, loss=0.01)
    route = proxy.route(lambda: server.port)        # clients connect to 127.0.0.1:route.port
    route.set("stalled"); ...; route.set("open"); route.reset(); proxy.close()
"""
import asyncio
import collections
import random
import socket
import struct
import threading

SEGMENT = 1448  # bytes of a TCP segment on an ordinary network
RETRANSMISSION = (0.2, 0.4)  # seconds until a lost one is sent again
MOST_UNDER_WAY = 1 << 20  # bytes in one direction of a connection, like a window


class Direction(asyncio.Protocol):
    """One side of a connection: what it hears is on its way to the other side."""

    def __init__(self, route, random_of):
        self.route, self.random = route, random_of
        self.other = self.transport = None
        self.under_way, self.size, self.free_at, self.timer, self.paused = collections.deque(), 0, 0.0, None, False
        self.ended = self.gone = False

    def connection_made(self, transport):
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data):
        network = self.route.proxy
        now = network.loop.time()
        stall = self.retransmissions((len(data) + SEGMENT - 1) // SEGMENT)
        self.free_at = max(self.free_at, now + network.delay) + stall
        self.under_way.append((self.free_at, data))
        self.size += len(data)
        network.bytes += len(data)
        if self.size > MOST_UNDER_WAY and not self.paused:
            self.paused = True
            self.transport.pause_reading()
        self.deliver()

    def retransmissions(self, segments):
        """Seconds that losses cost: a round trip where three later segments told of them, else a timeout, doubled each time."""
        network, stall = self.route.proxy, 0.0
        for behind in reversed(range(segments)):
            wait = self.random.uniform(*RETRANSMISSION)
            while self.random.random() < network.loss:
                stall, wait = max(stall, 2 * network.delay) if behind >= 3 else stall + wait, wait * 2
                network.lost += 1
        return stall

    def deliver(self):
        """What is due, and a timer for the next. Who hung up is heard of behind the last byte."""
        if self.timer:
            self.timer.cancel()
            self.timer = None
        if self.other is None or self.route.state != "open":
            return
        now, due, there = self.route.proxy.loop.time(), [], self.other.transport
        while self.under_way and self.under_way[0][0] <= now:
            due.append(self.under_way.popleft()[1])
        self.size -= sum(map(len, due))
        if due and not there.is_closing():
            there.write(b"".join(due))
        if self.paused and self.size < MOST_UNDER_WAY // 2 and not self.transport.is_closing():
            self.paused = False
            self.transport.resume_reading()
        if self.under_way:
            self.timer = self.route.proxy.loop.call_at(self.under_way[0][0], self.deliver)
        elif self.ended:
            there.close()

    def eof_received(self):
        self.ended = True
        self.deliver()
        return True  # the other direction goes on

    def connection_lost(self, _):
        self.ended = self.gone = True
        self.deliver()
        self.route.forget(self)

    def reset(self):
        """As a machine that knows nothing of the connection answers."""
        if self.transport and not self.transport.is_closing():
            handle = self.transport.get_extra_info("socket")
            handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.abort()


class Route:
    def __init__(self, proxy, target):
        self.proxy, self.target, self.state = proxy, target, "open"
        self.pairs, self.server, self.connections = set(), None, 0
        self.place = socket.socket()  # bound and deaf: the port stays ours while the route is refused
        self.place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.place.bind(("127.0.0.1", 0))
        self.port = self.place.getsockname()[1]

    async def listen(self):
        self.server = await self.proxy.loop.create_server(self.accept, "127.0.0.1", self.port, reuse_address=True)

    def accept(self):
        self.connections += 1
        near = Direction(self, random.Random(self.proxy.random.getrandbits(64)))
        self.proxy.loop.create_task(self.connect(near))
        return near

    async def connect(self, near):
        far = Direction(self, random.Random(self.proxy.random.getrandbits(64)))
        self.pairs.add((near, far))
        while self.state == "stalled":
            await asyncio.sleep(0.02)
        try:
            await self.proxy.loop.create_connection(lambda: far, "127.0.0.1", self.target())
        except OSError:
            near.reset()
            self.pairs.discard((near, far))
            return
        if near.transport is None:  # gone before it was accepted
            far.reset()
            self.pairs.discard((near, far))
            return
        near.other, far.other = far, near
        if self.state == "refused":
            far.reset()
        near.deliver(), far.deliver()

    def forget(self, side):
        self.pairs = {p for p in self.pairs if side not in p or not (p[0].gone and (p[1].gone or p[1].transport is None))}

    def reset_all(self):
        pairs, self.pairs = self.pairs, set()
        for near, far in pairs:
            near.reset(), far.reset()

    async def change(self, state):
        before, self.state = self.state, state
        if state == "refused":
            if self.server:
                self.server.close()
                self.server = None
            self.reset_all()
        elif before == "refused":
            await self.listen()
        for pair in list(self.pairs):
            for side in pair:
                side.deliver()

    # From any thread:
    def set(self, state):
        self.proxy.run(self.change(state))

    def reset(self):
        async def all_of_it():
            self.reset_all()
        self.proxy.run(all_of_it())


class Proxy:
    def __init__(self, seed, delay=0.0, loss=0.0):
        self.delay, self.loss, self.random = delay, loss, random.Random(seed)
        self.bytes = self.lost = 0
        self.routes = []
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)

    def route(self, target):
        route = Route(self, target)
        self.run(route.listen())
        self.routes.append(route)
        return route

    def close(self):
        for route in self.routes:
            route.set("refused")
            route.place.close()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()
