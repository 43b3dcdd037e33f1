// Examples below the help of each command.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "cli/declare.h"

namespace collbench {
namespace {

struct Example {
  std::string_view command;  // words behind "collbench"
  std::string_view text;
  std::string_view remark{};  // above the examples
};

constexpr Example examples[] = {
    {"simulate", R"(
  collbench simulate --topo cluster:4xdgx-h100 --algo ring,double-tree -b 1M -e 1G
  collbench simulate --topo torus:16x16x16,50GBps,1us --algo torus -b 64M -e 64M --explain
  collbench simulate --topo star:64,100Gbps,5us --algo all -b 1M -e 1M --json out.json
  collbench simulate --workload nccl-inspector-4711/ --topo star:64,200Gbps,5us --algo ring,auto
  collbench simulate --topo star:8,100Gbps,5us --collective all-gather --groups 2x4
)"},
    {"sweep", R"(
  collbench sweep --topo star:8,10Gbps,50us --algo all -b 1K -e 64M -o sweep.jsonl
  collbench sweep cases.toml --jobs 4 -o sweep.jsonl    goes on where it was stopped
)"},
    {"train", R"(
  collbench train -W 4 --steps 100                      mirrored, threads of this process
  collbench train -W 4 --sharding full --buckets tensor       FSDP: a rank keeps its share
  collbench train --isolate -W 2 --strategy parameter-server --servers 1
  collbench train --workload resnet50 --topo cluster:16xdgx-h100 --algo auto
)"},
    {"select", R"(
  collbench select -b 64M -W 16 --topo cluster:2xdgx-h100 --explain
  collbench select -W 8 --topo star:8,10Gbps,50us --table
  collbench select -W 8 --topo star:8,10Gbps,50us --collective reduce-scatter
)"},
    {"tune", R"(
  collbench tune --library openmpi -W 2,4,8 --budget 60s -o rules
  collbench tune --offline measured.csv --share 15%     how much such a race would lose
)"},
    {"merge", R"(
  collbench merge part1.jsonl part2.jsonl -o all.json
)"},
    {"ab", R"(
  collbench ab --base old/collbench --head new/collbench --budget 2min -- --algo ring -W 4
  collbench ab --base old --head new --fail-on slower,wrong --markdown comment.md
  collbench ab --base ./old --head ./new --read gbench  any two commands, by what they print
)"},
    {"compare", R"(
  collbench compare before.json after.json
  collbench compare base/ head/                         folders of nccl-tests' or OSU's tables
)"},
    {"history add", R"(
  collbench history add pinned.json today.json --db history.sqlite
)"},
    {"history list", R"(
  collbench history list --db history.sqlite
)"},
    {"history show", R"(
  collbench history show ring/shm/workers:4/65536/f32/sum --db history.sqlite
)"},
    {"history changes", R"(
  collbench history changes --db history.sqlite
)"},
    {"history prune", R"(
  collbench history prune --keep 200 --db history.sqlite
)"},
    {"report", R"(
  collbench report out.json                             the table again
  collbench report out.json all_reduce_perf.txt --html page.html
  collbench report out.json --plot busbw.svg
)"},
    {"calibrate", R"(
  collbench calibrate measured/ -o mine.toml            a machine for simulate and select
  collbench calibrate job.txt,ranks=16,nodes=2 -o mine.toml
  collbench calibrate --local -o here.toml
)"},
    {"regret", R"(
  collbench regret measured/ --policy default,model
  collbench regret large/ --fit small/                  chosen at scales that were not fitted
)"},
    {"validate", R"(
  collbench validate all_reduce_perf.txt -t cluster:2xdgx-h100
  collbench validate large.csv --fit small.csv
)"},
    {"algos list", R"(
  collbench algos list
)"},
    {"algos show", R"(
  collbench algos show double-tree -W 8
)"},
    {"algos verify", R"(
  collbench algos verify ring:segments=4 -W 6
)"},
    {"algos order", R"(
  collbench algos order ring -W 8 --channels 2
  collbench algos order --observed sums.txt             which algorithm gave these sums
)"},
    {"topo list", R"(
  collbench topo list
)"},
    {"topo show", R"(
  collbench topo show cluster:2xdgx-h100
)"},
    {"topo validate", R"(
  collbench topo validate mine.toml
)"},
    {"topo convert", R"(
  collbench topo convert system.xml --to toml -o mine.toml
)"},
    {"topo from-machine", R"(
  collbench topo from-machine -o here.toml
)"},
    {"topo draw", R"(
  collbench topo draw dgx-a100 --svg dgx.svg
)"},
    {"synth", R"(
  collbench synth --topo net.csv                         bound, trees, and the share reached
  collbench synth --topo net.csv --collective all-gather --bound --json
  collbench synth --topo net.csv --degrade 'link g0>s_nv0:0.5' --msccl plan.xml
  collbench synth --topo dgx-1-v100 --mscclpp plan.json --svg trees.svg
  collbench synth --topo star:8,100Gbps,5us --late 3:2ms --objective 64M
  collbench simulate --topo net.csv --algo synth,ring -b 1G
)"},
    {"logs", R"(
  collbench logs nccl-inspector-4711/             a folder of one job
  collbench logs nccl_trace_rank_* --json         Flight Recorder's dumps
  collbench logs job/ -t cluster:2xdgx-h100 -o step.csv
                                                  its choices judged, its step kept
)"},
    {"diagnose", R"(
  collbench diagnose all_reduce.txt --topo cluster:2xdgx-h100
  collbench diagnose all_reduce.txt --json     for a health check before a job
  collbench diagnose all_reduce.txt --format markdown -o ticket.md
)",
     R"(
Exit code 0: healthy, 1: unhealthy, 3: wrong results, whatever their times, 6: cannot
be told.
)"},
    {"launch", R"(
  collbench launch --hosts node0,node1:2 -- run --algo ring,direct -b 64K -e 16M
)",
     R"(
Rank 0 runs on the first host: its output is shown as it is, and files (--json) are written
there, in the home directory. The others' lines are prefixed with their rank. Ctrl-C stops all
after the case being measured. When a worker fails, the others are stopped, and the exit code is
that of the first that failed.
)"},
    {"profile", R"(
  collbench profile -- mpirun -n 8 ./app                what it all-reduces, and what it waits for
  collbench profile --keep job -t star:8,100Gbps,2us -- srun ./app
                                                        with what the best algorithm would gain
)",
     R"(
The exit code is the program's; with --check it is 1 if the program ended well but something held
it up.
With --json, --csv - or --markdown - its standard output goes to standard error.
)"},
    {"doctor", R"(
  collbench doctor
)"},
    {"completion", R"(
  collbench completion bash > ~/.local/share/bash-completion/completions/collbench
)"},
};

}  // namespace

std::string examples_of(std::string_view command) {
  const auto found = std::ranges::find(examples, command, &Example::command);
  if (found == std::end(examples)) return "";
  return fmt::format("{}\nExamples:{}", found->remark, found->text);
}

}  // namespace collbench
