# shellcheck shell=bash disable=SC2034
# What the recipe brings from outside of the distribution, each with its SHA-256. Sourced by install.sh.

# As upstream's images have it, so that agents find the version they know.
NODE_VERSION=24.12.0
NODE_URL="https://nodejs.org/dist/v$NODE_VERSION/node-v$NODE_VERSION-linux-x64.tar.xz"
NODE_SHA256=bdebee276e58d0ef5448f3d5ac12c67daa963dd5e0a9bb621a53d1cefbc852fd

# Brings Python where the distribution's is too old; it knows the SHA-256 of the Python that it fetches.
UV_VERSION=0.13.9
UV_URL="https://files.pythonhosted.org/packages/3d/aa/26d64642d808de4a652579ef950d7cd2d37f080a8babf9c67c6b75fc4c3f/uv-$UV_VERSION-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
UV_SHA256=d7f459fe4fd247d830351c75686d3996ace3c6f3f728eb0e85a30b7ada0cef19
PYTHON_VERSION=3.12.16

# Ubuntu has browsers as snaps only, which do not start in a session like this one. The package is Google's latest;
# what is pinned is the key that signs it.
CHROME_KEY_URL=https://dl.google.com/linux/linux_signing_key.pub
CHROME_KEY_FINGERPRINT=EB4C1BFD4F042F6DDDCCEC917721F63BD38B4796
