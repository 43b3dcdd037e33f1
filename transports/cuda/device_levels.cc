#include "transports/cuda/device_levels.h"

#include <algorithm>
#include <string>

#include "core/error.h"

namespace collbench {
namespace {

class Levelling {
 public:
  Levelling(const DeviceCommands& commands, std::span<const int> place_of, int places)
      : commands_(commands),
        place_of_(place_of),
        places_(places),
        levels_of_command_(commands.commands.size()) {}

  std::vector<DeviceLevel> run() {
    for (const std::vector<std::int32_t>& same : by_height()) {
      open_.assign(static_cast<std::size_t>(places_), -1);
      words_.assign(static_cast<std::size_t>(places_), 0);
      for (const std::int32_t command : same) add(command);
    }
    order();
    return std::move(levels_);
  }

 private:
  const DeviceCommand& command_at(std::int32_t index) const {
    return commands_.commands[static_cast<std::size_t>(index)];
  }

  std::vector<std::vector<std::int32_t>> by_height() const {
    std::vector<std::vector<std::int32_t>> all;
    std::vector<std::size_t> height(commands_.commands.size(), 0);
    for (std::size_t i = 0; i < height.size(); ++i) {
      for (const std::int32_t d : commands_.before(commands_.commands[i])) {
        height[i] = std::max(height[i], height[static_cast<std::size_t>(d)] + 1);
      }
      if (height[i] == all.size()) all.emplace_back();
      all[height[i]].push_back(static_cast<std::int32_t>(i));
    }
    return all;
  }

  void add(std::int32_t index) {
    const DeviceCommand& command = command_at(index);
    if (!command.any_rank) {
      add_piece(place_of_[static_cast<std::size_t>(command.rank)],
                {index, command.first, command.count});
      return;
    }
    const auto cut = [&](int p) { return share_begin(commands_, command, p, places_); };
    for (int p = 0; p < places_; ++p) {
      add_piece(p, {index, command.first + cut(p), cut(p + 1) - cut(p)});
    }
  }

  // To the place's level of this height, or to another one where that is full.
  void add_piece(int place, const DevicePiece& piece) {
    if (piece.count == 0) return;
    const int words = level_words(command_at(piece.command));
    if (words > most_level_words) {
      throw Unavailable("a reduction of " + std::to_string(words - 4) +
                        " arrays is more than a kernel of the graph executor takes, " +
                        std::to_string(most_level_words - 4) + "; use --executor persistent");
    }
    const auto p = static_cast<std::size_t>(place);
    if (open_[p] < 0 || words_[p] + words > most_level_words) {
      open_[p] = static_cast<std::int32_t>(levels_.size());
      words_[p] = 0;
      levels_.push_back({place, {}, {}});
    }
    words_[p] += words;
    levels_[static_cast<std::size_t>(open_[p])].pieces.push_back(piece);
    levels_of_command_[static_cast<std::size_t>(piece.command)].push_back(open_[p]);
  }

  // Dependences of commands become those of levels, without those that follow from others.
  void order() {
    std::vector<std::vector<bool>> earlier(levels_.size());  // by level: all that precede it
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      DeviceLevel& level = levels_[l];
      earlier[l].resize(levels_.size());
      std::vector<std::int32_t> wanted;
      for (const DevicePiece& piece : level.pieces) {
        for (const std::int32_t d : commands_.before(command_at(piece.command))) {
          const auto& of_command = levels_of_command_[static_cast<std::size_t>(d)];
          wanted.insert(wanted.end(), of_command.begin(), of_command.end());
        }
      }
      std::sort(wanted.begin(), wanted.end(), std::greater<>());
      for (const std::int32_t w : wanted) {
        const auto at = static_cast<std::size_t>(w);
        if (earlier[l][at]) continue;
        level.before.push_back(w);
        earlier[l][at] = true;
        for (std::size_t e = 0; e < at; ++e) {
          if (earlier[at][e]) earlier[l][e] = true;
        }
      }
    }
  }

  const DeviceCommands& commands_;
  std::span<const int> place_of_;
  int places_;
  std::vector<DeviceLevel> levels_;
  std::vector<std::vector<std::int32_t>> levels_of_command_;
  std::vector<std::int32_t> open_;  // by place: its level that takes more pieces
  std::vector<int> words_;          // of it
};

}  // namespace

std::vector<DeviceLevel> levels_of(const DeviceCommands& commands, std::span<const int> place_of,
                                   int places) {
  return Levelling(commands, place_of, places).run();
}

}  // namespace collbench
