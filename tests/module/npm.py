#!/usr/bin/python3
"""npm's redis against the module. Without npm, or where its registry cannot be reached, it says so and passes."""
import os
import shutil
import subprocess
import sys

from servers import ROOT, server

FOLDER = os.path.join(ROOT, "build", "npm")


def fetch():
    if os.path.isdir(os.path.join(FOLDER, "node_modules", "redis")):
        return True
    if not shutil.which("npm"):
        return False
    os.makedirs(FOLDER, exist_ok=True)
    try:
        return subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", FOLDER, "redis@5"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300).returncode == 0
    except subprocess.TimeoutExpired:
        return False


if not fetch():
    print("skipped: npm's redis")
    sys.exit(0)
with server() as s:
    environment = dict(os.environ, SOCKET=s.path, NODE_MODULES=os.path.join(FOLDER, "node_modules"))
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clients.mjs")
    sys.exit(subprocess.run(["node", script], env=environment, timeout=300).returncode)
