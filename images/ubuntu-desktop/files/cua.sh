#!/bin/bash
# The cua-server asks nobody who he is: the security group alone decides who reaches it.
set -eu
export CUA_TELEMETRY_ENABLED=false DO_NOT_TRACK=1 PYTHONDONTWRITEBYTECODE=1
/opt/examhall/linux/wait-display.sh
exec /opt/examhall/cua/venv/bin/python -m computer_server --host 0.0.0.0 --port "${EXAMHALL_CUA_PORT:-5000}" --log-level info
