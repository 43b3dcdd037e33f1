// Gloo as a black box: the same Communicator, played by Gloo's own collectives over TCP.
//
// Gloo has no shared-memory transport: ranks on one host talk over the loopback interface. So a row
// "gloo" beside "shm" shows what an application pays that uses Gloo within a host.
//
// What Gloo can do here: f16, f32, f64, i32, i64 and u8; sum, prod, min and max, and avg, which
// Gloo lacks, as a sum that is scaled afterwards. It has no bf16. f16 is rounded after every
// addition. min and max compare with `<`, so a NaN may be lost where collbench would propagate it.
// Its reduce-scatter is of the older interface (GlooOptions), so that the vector is copied into a
// buffer and the share out of it; where one needs a whole vector as working memory, it has its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/units.h"
#include "transports/communicator.h"

namespace gloo::rendezvous {
class Store;
}

namespace collbench {

/// Names that GlooOptions::algorithm accepts. "gloo" is what Gloo picks by itself: its ring.
/// "gloo:ring" and "gloo:bcube" are the algorithms of its present interface; "gloo:ring-chunked"
/// and "gloo:halving-doubling" those of its older one, often the faster up to 1 MiB. The older ones
/// are bound to a buffer, so the data are copied into one and out again.
std::vector<std::string> gloo_algorithms();
/// Throws InvalidArgument, with a suggestion, for another name.
void require_gloo_algorithm(const std::string& name);
/// Throws Unavailable for a type that Gloo does not have.
void require_gloo_type(DataType type);

struct GlooOptions {
  std::string algorithm = "gloo";
  Seconds timeout{60.0};  // of bootstrap, and of every operation
};

/// A place where the ranks of one communicator meet, for ranks that are threads of this process.
/// Thread safety: all of them may share it.
std::shared_ptr<gloo::rendezvous::Store> make_gloo_memory_store();

/// Joins rank `rank` of `ranks`, which all meet in one `store`, which serves no other communicator;
/// returns once every rank has joined. An operation that fails throws TransportError naming the
/// peers whose connection broke, as far as Gloo knows them. Ranks meet once more before they let it
/// go: a rank that leaves closes connections others may still need. Throws InvalidArgument for an
/// unknown algorithm or a rank out of range, TransportError naming the missing ranks after the
/// timeout.
std::unique_ptr<Communicator> make_gloo_communicator(
    Rank rank, int ranks, const std::shared_ptr<gloo::rendezvous::Store>& store,
    const GlooOptions& options);

}  // namespace collbench
