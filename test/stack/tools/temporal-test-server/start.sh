#!/bin/sh
# It has to answer within five seconds of its start, on cores that others use too: little compiling, few threads.
exec java -XX:TieredStopAtLevel=1 -Xshare:auto -XX:+UseSerialGC -Xmx512m \
  -cp "$(dirname "$0")/jars/*" io.temporal.testserver.TestServer "$@"
