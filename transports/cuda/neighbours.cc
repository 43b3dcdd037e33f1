#include "transports/cuda/neighbours.h"

#include <atomic>
#include <cstring>
#include <mutex>

#include "algorithms/registry.h"
#include "core/error.h"
#include "transports/play/schedule_communicator.h"
#include "transports/shm/shm_world.h"

namespace collbench {
namespace {

constexpr std::size_t page = 4096;
constexpr std::int64_t heap_bytes = std::int64_t{16}
                                    << 20;  // of each rank; untouched pages are free
constexpr std::int32_t laid_out = 0x4e656967;
constexpr std::int32_t aborted = -1;
constexpr std::size_t words_of_handle = sizeof(GpuHandle) / sizeof(std::int64_t);

std::int64_t whole_pages(std::int64_t bytes) {
  return (bytes + static_cast<std::int64_t>(page) - 1) / static_cast<std::int64_t>(page) *
         static_cast<std::int64_t>(page);
}

// The arena: a page of words, the world of the host, then each rank's heap and stage.
struct ArenaWords {
  std::int32_t late;
  std::int32_t mark;
};
struct ArenaLayout {
  ArenaLayout(int ranks, Bytes stage)
      : first_rank(static_cast<std::int64_t>(page) +
                   whole_pages(static_cast<std::int64_t>(shm_world_footprint(ranks)))),
        per_rank(heap_bytes + whole_pages(stage.count)),
        total(first_rank + per_rank * ranks) {}
  std::int64_t first_rank;
  std::int64_t per_rank;
  std::int64_t total;
};

ArenaWords& words_of(std::byte* arena) { return *reinterpret_cast<ArenaWords*>(arena); }
std::byte* world_of(std::byte* arena) { return arena + page; }

std::unique_ptr<Communicator> host_of(const CudaNeighbourhood& where) {
  const ArenaLayout layout(where.ranks, where.stage);
  const ShmView view{.world = world_of(where.arena),
                     .shared_begin = where.arena,
                     .shared_bytes = static_cast<std::size_t>(layout.total),
                     .heap = where.arena + layout.first_rank + layout.per_rank * where.rank,
                     .heap_bytes = static_cast<std::size_t>(heap_bytes)};
  return make_schedule_communicator(make_schedule("one-shot", where.ranks),
                                    make_shm_endpoint(view, where.rank), "neighbours");
}

// Memory that cannot be freed, because an unreachable rank may still use it.
void keep_for_ever(std::shared_ptr<std::byte> memory) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::shared_ptr<std::byte>>;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(memory));
}

std::int64_t packed(const CudaCall& call) {
  const int kind = call.collective ? static_cast<int>(call.collective->kind) + 1 : 0;
  return kind | static_cast<std::int64_t>(call.type) << 8 |
         static_cast<std::int64_t>(call.op) << 16 | std::int64_t{call.in_place} << 24;
}

CudaCall unpacked(std::span<const std::int64_t> numbers) {
  CudaCall call;
  if (const auto kind = static_cast<int>(numbers[0] & 0xff); kind > 0) {
    call.collective = {static_cast<CollectiveKind>(kind - 1), static_cast<Rank>(numbers[2])};
  }
  call.type = static_cast<DataType>(numbers[0] >> 8 & 0xff);
  call.op = static_cast<ReduceOp>(numbers[0] >> 16 & 0xff);
  call.in_place = (numbers[0] >> 24 & 1) != 0;
  call.count = numbers[1];
  return call;
}

}  // namespace

Bytes cuda_neighbours_footprint(int ranks, Bytes stage) {
  return {ArenaLayout(ranks, stage).total};
}

void lay_out_cuda_neighbours(std::byte* arena, int ranks, Seconds timeout) {
  create_shm_world(world_of(arena), ranks, {.timeout = timeout});
  words_of(arena).mark = laid_out;
}

void abort_cuda_neighbours(std::byte* arena, std::string_view why) {
  if (arena == nullptr || words_of(arena).mark != laid_out) return;
  abort_shm_world(world_of(arena), why);
  std::atomic_ref(words_of(arena).late).store(aborted);
}

CudaNeighbours::CudaNeighbours(const CudaNeighbourhood& where)
    : where_(where),
      driver_(CudaDriver::instance()),
      host_(host_of(where)),
      opened_(static_cast<std::size_t>(where.ranks)),
      reach_(static_cast<std::size_t>(where.ranks * where.ranks), false) {}

CudaNeighbours::~CudaNeighbours() { leave(); }

void CudaNeighbours::adopt(std::shared_ptr<std::byte> memory, Bytes size) {
  blocks_.push_back({std::move(memory), size, false});
}

CudaNeighbours::Place CudaNeighbours::place_of(const std::byte* address) const {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const std::byte* const start = blocks_[i].memory.get();
    if (std::less_equal<>()(start, address) && address - start < blocks_[i].size.count) {
      return {static_cast<std::int64_t>(i), address - start};
    }
  }
  throw InvalidArgument(
      "ranks in processes of their own reduce memory that their communicator has given, and this "
      "buffer is none of it");
}

std::vector<std::int64_t> CudaNeighbours::gather(std::span<const std::int64_t> mine) {
  std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(ranks()), 0);
  std::copy(mine.begin(), mine.end(),
            all.begin() + static_cast<std::ptrdiff_t>(mine.size()) * rank());
  const Region region{reinterpret_cast<std::byte*>(all.data()), std::ssize(all), DataType::i64};
  host_->all_reduce(region, region, ReduceOp::sum);
  return all;
}

// All ranks exchange the handles of their blocks, and open those of others that are new to them.
// `places` has, for each rank, as many blocks and offsets as `mine`.
void CudaNeighbours::tell(const std::vector<Place>& mine, const std::vector<std::int64_t>& places) {
  std::vector<std::int64_t> handles(mine.size() * words_of_handle, 0);
  driver_.use(where_.device);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (mine[i].block < 0) continue;
    Block& block = blocks_[static_cast<std::size_t>(mine[i].block)];
    const GpuHandle handle = driver_.share(block.memory.get());
    std::memcpy(handles.data() + i * words_of_handle, handle.data(), sizeof handle);
    block.told = true;
  }
  const std::vector<std::int64_t> all = gather(handles);
  for (Rank r = 0; r < ranks(); ++r) {
    for (std::size_t i = 0; r != rank() && i < mine.size(); ++i) {
      const std::size_t at = static_cast<std::size_t>(r) * mine.size() + i;
      const std::int64_t block = places[at * 2];
      auto& opened = opened_[static_cast<std::size_t>(r)];
      if (block < 0 || opened.contains(block)) continue;
      GpuHandle handle;
      std::memcpy(handle.data(), all.data() + at * words_of_handle, sizeof handle);
      opened[block] = driver_.open(handle);
    }
  }
}

std::byte* CudaNeighbours::address(Rank r, Place place) {
  if (place.block < 0) return nullptr;
  if (r == rank())
    return blocks_[static_cast<std::size_t>(place.block)].memory.get() + place.offset;
  std::byte* const start = opened_[static_cast<std::size_t>(r)].at(place.block);
  return start == nullptr ? nullptr : start + place.offset;
}

std::vector<std::byte*> CudaNeighbours::show(const std::byte* mine) {
  const Place place = place_of(mine);
  const std::vector<std::int64_t> numbers = {place.block, place.offset};
  const std::vector<std::int64_t> places = gather(numbers);
  tell({place}, places);
  std::vector<std::byte*> shown;
  for (Rank r = 0; r < ranks(); ++r) {
    const auto at = static_cast<std::size_t>(r) * 2;
    shown.push_back(address(r, {places[at], places[at + 1]}));
  }
  return shown;
}

void CudaNeighbours::note_reach(const std::vector<std::byte*>& shown) {
  std::vector<std::int64_t> mine;
  for (const std::byte* address : shown) mine.push_back(address == nullptr ? 0 : 1);
  const std::vector<std::int64_t> all = gather(mine);
  for (std::size_t i = 0; i < reach_.size(); ++i) reach_[i] = all[i] != 0;
}

bool CudaNeighbours::reaches(Rank a, Rank b) const {
  return reach_[static_cast<std::size_t>(a * ranks() + b)] &&
         reach_[static_cast<std::size_t>(b * ranks() + a)];
}

CudaNeighbours::Met CudaNeighbours::meet(const CudaCall& call, const std::byte* in,
                                         const std::byte* out) {
  constexpr std::size_t row = 8;
  const bool has_memory = call.collective && call.count > 0;
  const std::vector<Place> mine = {has_memory && in != nullptr ? place_of(in) : Place{},
                                   has_memory && out != nullptr ? place_of(out) : Place{}};
  bool news = false;
  for (const Place& place : mine) {
    news = news || (place.block >= 0 && !blocks_[static_cast<std::size_t>(place.block)].told);
  }
  const Rank root = call.collective ? call.collective->root : 0;
  const std::vector<std::int64_t> numbers = {packed(call),   call.count,     root,
                                             mine[0].block,  mine[0].offset, mine[1].block,
                                             mine[1].offset, news ? 1 : 0};
  const std::vector<std::int64_t> all = gather(numbers);
  std::vector<CudaCall> calls;
  std::vector<std::int64_t> places;
  bool any_news = false;
  for (std::size_t r = 0; r < opened_.size(); ++r) {
    const std::span<const std::int64_t> of_rank(all.data() + r * row, row);
    calls.push_back(unpacked(of_rank));
    places.insert(places.end(), of_rank.begin() + 3, of_rank.begin() + 7);
    any_news = any_news || of_rank[7] != 0;
  }
  if (const std::string why = disagreement(calls); !why.empty()) throw TransportError(why);
  if (any_news) tell(mine, places);
  Met met;
  for (Rank r = 0; r < ranks(); ++r) {
    const auto at = static_cast<std::size_t>(r) * 4;
    met.in.push_back(address(r, {places[at], places[at + 1]}));
    met.out.push_back(address(r, {places[at + 2], places[at + 3]}));
  }
  return met;
}

std::byte* CudaNeighbours::stage(Rank r) const {
  const ArenaLayout layout(ranks(), where_.stage);
  return where_.arena + layout.first_rank + layout.per_rank * r + heap_bytes;
}

std::string CudaNeighbours::why_aborted() const { return shm_world_error(world_of(where_.arena)); }

void CudaNeighbours::leave() noexcept {
  if (gone_) return;
  gone_ = true;
  try {
    driver_.use(where_.device);
    for (const auto& of_rank : opened_) {
      for (const auto& [block, start] : of_rank) {
        if (start != nullptr) driver_.close(start);
      }
    }
    host_->barrier();
  } catch (const std::exception&) {
    for (Block& block : blocks_) {
      if (block.told) keep_for_ever(std::move(block.memory));
    }
  }
  blocks_.clear();
}

}  // namespace collbench
