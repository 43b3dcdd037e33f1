#include "algorithms/schedule_table.h"

#include <algorithm>
#include <vector>

#include "core/plain_text.h"

namespace collbench {
namespace {

std::string cell_text(Rank rank, const Round& round) {
  std::string text;
  for (const Op& op : round.ops()) {
    if (!text.empty()) text += ' ';
    text += std::to_string(op.chunks.first);
    if (op.chunks.count > 1) text += "-" + std::to_string(op.chunks.first + op.chunks.count - 1);
    if (op.peer == rank) {
      text += "own";
      continue;
    }
    text += op.kind == OpKind::send ? '>' : op.kind == OpKind::recv ? '<' : '+';
    text += std::to_string(op.peer);
  }
  return text.empty() ? "." : text;
}

// Pads to `width`, with two spaces to the next column.
std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width + 2 - std::min(text.size(), width), ' ');
}

}  // namespace

std::string to_table(const Schedule& schedule, int width) {
  std::string text = schedule.name() + ": " + counted(schedule.ranks(), "rank") + ", " +
                     counted(schedule.chunks(), "chunk") + ", " +
                     counted(schedule.rounds(), "round") +
                     "; c>r sends chunk c to rank r, c<r stores it from r, c+r adds it\n";
  const std::string last_rank = std::to_string(schedule.ranks() - 1);
  const std::size_t rank_width = std::max<std::size_t>(4, last_rank.size());
  Round round;
  for (int begin = 0; begin < schedule.rounds();) {
    std::vector<std::string> lines{padded("rank", rank_width)};
    for (Rank r = 0; r < schedule.ranks(); ++r)
      lines.push_back(padded(std::to_string(r), rank_width));
    int t = begin;
    for (; t < schedule.rounds(); ++t) {
      std::vector<std::string> column{"round " + std::to_string(t)};
      std::size_t widest = column[0].size();
      for (Rank r = 0; r < schedule.ranks(); ++r) {
        schedule.round(r, t, round);
        column.push_back(cell_text(r, round));
        widest = std::max(widest, column.back().size());
      }
      if (t > begin && lines[0].size() + widest > static_cast<std::size_t>(std::max(width, 0)))
        break;
      for (std::size_t i = 0; i < lines.size(); ++i) lines[i] += padded(column[i], widest);
    }
    begin = t;
    text += '\n';
    for (std::string& line : lines) {
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
  }
  return text;
}

}  // namespace collbench
