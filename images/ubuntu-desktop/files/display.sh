#!/bin/bash
# The screen: fixed size, no screen saver, reached by this machine alone.
set -eu
exec Xvfb "$DISPLAY" -screen 0 "${EXAMHALL_RESOLUTION}x24" -nolisten tcp -noreset -s 0 -dpms
