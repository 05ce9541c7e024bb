#!/bin/bash
# Waits up to a minute for the screen.
for _ in $(seq 240); do
  if xdpyinfo >/dev/null 2>&1; then exit 0; fi
  sleep 0.25
done
echo "no display $DISPLAY after a minute" >&2
exit 1
