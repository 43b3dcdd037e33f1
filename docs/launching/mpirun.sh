#!/bin/bash
# mpirun.sh NODE[:SLOTS],... [ARGUMENT...]: `collbench run ARGUMENT...` with Open MPI's mpirun, one
# worker per slot. Open MPI only starts the workers; they talk over gRPC.
#
#   mpirun.sh node0:2,node1:2 --algo ring,direct -b 64K -e 16M --json out.json
#
# Variables: PORT, the first port on each node (7101); COLLBENCH, the program (collbench).
set -euo pipefail

nodes=${1:?which nodes? NODE[:SLOTS],...}
shift
port=${PORT:-7101}

# Ranks fill one node after the other, as --map-by slot places them.
hosts=
ranks=0
for node in ${nodes//,/ }; do
  slots=1
  [[ $node != *:* ]] || slots=${node#*:}
  for ((slot = 0; slot < slots; ++slot)); do
    hosts+=${hosts:+,}${node%%:*}:$((port + slot))
    ranks=$((ranks + 1))
  done
done

export COLLBENCH_HOSTS=$hosts
# A secret of this job keeps others out; it travels in the environment, not on a command line.
COLLBENCH_JOB_TOKEN=${COLLBENCH_JOB_TOKEN:-$(head -c 24 /dev/urandom | base64)}
export COLLBENCH_JOB_TOKEN

# shellcheck disable=SC2016  # the variable is the worker's
exec mpirun -np "$ranks" --host "$nodes" --map-by slot --bind-to none \
  -x COLLBENCH_HOSTS -x COLLBENCH_JOB_TOKEN \
  sh -c 'COLLBENCH_RANK=$OMPI_COMM_WORLD_RANK exec "$@"' sh "${COLLBENCH:-collbench}" run "$@"
