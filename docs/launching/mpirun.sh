#!/bin/bash
# mpirun.sh NODE[:SLOTS],... [ARGUMENT...]: `collbench run ARGUMENT...` with Open MPI's mpirun, one
# worker per slot. Open MPI only starts the workers; they talk over gRPC.
#
#   mpirun.sh node0:2,node1:2 --algo ring,direct -b 64K -e 16M --json out.json
#
# On one machine `mpirun -n 4 collbench run ...` is enough. Here the ranks of several nodes are told
# where the first one awaits the others.
#
# Variables: MASTER_PORT, the port below that meeting (7100); COLLBENCH, the program (collbench).
set -euo pipefail

nodes=${1:?which nodes? NODE[:SLOTS],...}
shift

ranks=0
for node in ${nodes//,/ }; do
  slots=1
  [[ $node != *:* ]] || slots=${node#*:}
  ranks=$((ranks + slots))
done
first=${nodes%%,*}

export MASTER_ADDR=${first%%:*}
export MASTER_PORT=${MASTER_PORT:-7100}
# A secret of this job keeps others out; it travels in the environment, not on a command line.
COLLBENCH_JOB_TOKEN=${COLLBENCH_JOB_TOKEN:-$(head -c 24 /dev/urandom | base64)}
export COLLBENCH_JOB_TOKEN

exec mpirun -np "$ranks" --host "$nodes" --map-by slot --bind-to none \
  -x MASTER_ADDR -x MASTER_PORT -x COLLBENCH_JOB_TOKEN "${COLLBENCH:-collbench}" run "$@"
