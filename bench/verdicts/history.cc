#include "bench/verdicts/history.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include "bench/records/case_names.h"
#include "bench/verdicts/compare.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "core/file_error.h"
#include "core/suggest.h"

namespace collbench {
namespace {

constexpr int schema_version = 2;    // 1 had no checksums; such a file is given the column
constexpr int patience_ms = 10'000;  // for another process that writes

constexpr const char* schema = R"(
create table job (id integer primary key, happened text not null, revision text not null,
                  reference text not null, machine text not null, crc32c integer) strict;
create table point (job integer not null references job (id) on delete cascade,
                    name text not null, exact integer not null, value real not null,
                    low real not null, high real not null, rounds integer not null,
                    primary key (job, name)) strict, without rowid;
create index point_of_case on point (name);
)";

std::optional<StoredPoint> point_of(const Verdict& verdict) {
  if (!verdict.base || !verdict.head) return std::nullopt;
  StoredPoint point;
  point.exact = verdict.exact;
  if (verdict.exact) {
    point.value = point.low = point.high = verdict.head->typical_ns;
    return point;
  }
  const RatioEstimate* estimate = deciding(verdict);
  if (estimate == nullptr) return std::nullopt;
  point.value = estimate->ratio;
  // What bounds nothing is not stored as a number.
  point.low = std::isfinite(estimate->high) ? estimate->low : estimate->ratio;
  point.high = std::isfinite(estimate->high) ? estimate->high : estimate->ratio;
  point.rounds = estimate->head_rounds;
  return point;
}

/// What was measured: a revision of collbench, or with `ab --read` a command, on one line.
std::string version_measured(const Environment& environment) {
  std::string text = value_of(environment, "git_revision", value_of(environment, "command"));
  std::ranges::replace(text, '\n', ' ');
  return text;
}

/// Runs what asks the database; its errors become ours.
template <typename Action>
auto guarded(const std::string& path, Action action) {
  try {
    return action();
  } catch (const SQLite::Exception& error) {
    const int code = error.getErrorCode();
    std::error_code unknown;
    if (code == SQLITE_CANTOPEN && !std::filesystem::exists(path, unknown) && !unknown) {
      const std::filesystem::path folder = std::filesystem::path(path).parent_path();
      if (!folder.empty() && !std::filesystem::exists(folder, unknown)) {
        throw FileUnavailable(
            fmt::format("history '{}': there is no folder '{}'", path, folder.string()));
      }
      throw FileUnavailable(fmt::format("there is no history '{}'; 'history add' makes it", path));
    }
    const std::string text = fmt::format("history '{}': {}", path, error.what());
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) throw InvalidArgument(text);
    if (code == SQLITE_FULL || code == SQLITE_IOERR) throw Error(text);  // a full or failing disk
    throw FileUnavailable(text);
  }
}

int version_of(SQLite::Database& database) {
  return database.execAndGet("pragma user_version").getInt();
}

/// The columns id, happened, revision, reference and machine.
HistoryJob job_of(SQLite::Statement& row) {
  return {row.getColumn(0).getInt64(),  row.getColumn(1).getString(), row.getColumn(2).getString(),
          row.getColumn(3).getString(), row.getColumn(4).getString(), 0};
}

// SQLite takes a file of some bytes for an empty one, and would write over it.
void require_database(const std::string& path, bool may_be_missing) {
  std::error_code ignored;
  if (may_be_missing && !std::filesystem::exists(path, ignored)) return;
  std::string head(16, ' ');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  require(file.gcount() == 0 || head == std::string_view("SQLite format 3\0", 16),
          fmt::format("'{}' is not a collbench history", path));
}

/// The columns exact, value, low, high and rounds, from `column` on.
StoredPoint figures_of(SQLite::Statement& row, int column) {
  StoredPoint point;
  point.exact = row.getColumn(column).getInt() != 0;
  point.value = row.getColumn(column + 1).getDouble();
  point.low = row.getColumn(column + 2).getDouble();
  point.high = row.getColumn(column + 3).getDouble();
  point.rounds = row.getColumn(column + 4).getInt();
  return point;
}

/// The CPUs of points first to last, the latter excluded: what follows the host in `machine`.
std::set<std::string> cpus_of(const StoredSeries& series, std::size_t first, std::size_t last) {
  std::set<std::string> cpus;
  for (std::size_t i = first; i < last; ++i) {
    const std::string& machine = series.points[i].job.machine;
    const std::size_t comma = machine.find(", ");
    cpus.insert(comma == machine.npos ? machine : machine.substr(comma + 2));
  }
  return cpus;
}

}  // namespace

std::string other_cpus(const StoredSeries& series, const ChangePoint& change) {
  if (series.points.at(change.at).exact) return "";
  std::size_t first = 0;
  std::size_t last = series.points.size();
  for (const ChangePoint& other : series.changes) {
    if (other.at < change.at) first = std::max(first, other.at);
    if (other.at > change.at) last = std::min(last, other.at);
  }
  const std::set<std::string> before = cpus_of(series, first, change.at);
  const std::set<std::string> after = cpus_of(series, change.at, last);
  for (const std::string& cpu : before) {
    if (after.contains(cpu)) return "";
  }
  return fmt::format("on '{}', before it on '{}'", fmt::join(after, "', '"),
                     fmt::join(before, "', '"));
}

std::int64_t History::checksum_of(const HistoryJob& job, const NamedPoints& points) {
  std::string text =
      fmt::format("{}\n{}\n{}\n{}\n", job.when, job.revision, job.reference, job.machine);
  for (const auto& [name, point] : points) {
    text += fmt::format("{} {} {:a} {:a} {:a} {}\n", name, point.exact, point.value, point.low,
                        point.high, point.rounds);
  }
  return crc32c(text);
}

History::History(const std::string& path, Use use) : path_(path) {
  require(!path.empty(), "the file of a history needs a name");
  require_database(path, use == Use::change_or_make);
  guarded(path_, [&] {
    const int mode = use == Use::read ? SQLite::OPEN_READONLY : SQLite::OPEN_READWRITE;
    const int making = use == Use::change_or_make ? SQLite::OPEN_CREATE : 0;
    database_ = std::make_unique<SQLite::Database>(path, mode | making, patience_ms);
    if (use != Use::read) make_schema();
    const int version = version_of(*database_);
    require(version == schema_version || version == 1,
            fmt::format("history '{}' has schema version {}; this collbench reads {}", path_,
                        version, schema_version));
    const std::string state = database_->execAndGet("pragma integrity_check").getString();
    require(state == "ok", fmt::format("history '{}' is damaged: {}", path_, state));
    if (version == schema_version) check_whole();
    database_->exec("pragma foreign_keys = on");
  });
}

// Two processes may make or widen it at once.
void History::make_schema() {
  if (version_of(*database_) > 1) return;
  SQLite::Transaction making(*database_, SQLite::TransactionBehavior::IMMEDIATE);
  const int version = version_of(*database_);
  if (version == 0) {
    require(database_->execAndGet("select count(*) from sqlite_master").getInt() == 0,
            fmt::format("'{}' is not a collbench history", path_));
    database_->exec(schema);
  } else if (version == 1) {
    database_->exec("alter table job add column crc32c integer");
  }
  if (version <= 1) database_->exec(fmt::format("pragma user_version = {}", schema_version));
  making.commit();
}

// What SQLite cannot see: figures that have changed.
void History::check_whole() const {
  SQLite::Statement jobs(*database_,
                         "select id, happened, revision, reference, machine, crc32c from job "
                         "where crc32c is not null");
  while (jobs.executeStep()) {
    const HistoryJob job = job_of(jobs);
    SQLite::Statement rows(*database_,
                           "select name, exact, value, low, high, rounds from point where job = ?");
    rows.bind(1, job.id);
    NamedPoints points;
    while (rows.executeStep()) points[rows.getColumn(0).getString()] = figures_of(rows, 1);
    require(
        checksum_of(job, points) == jobs.getColumn(5).getInt64(),
        fmt::format("history '{}' is damaged: job {} does not fit its checksum", path_, job.id));
  }
}

History::~History() = default;

// Measured times never repeat to the last digit: it is the same measurement. Exact figures of one
// version do, night after night.
void History::refuse_known(const HistoryJob& job, const NamedPoints& points) const {
  const bool measured =
      std::ranges::any_of(points, [](const auto& named) { return !named.second.exact; });
  SQLite::Statement known(*database_, "select id, happened, crc32c from job");
  while (measured && known.executeStep()) {
    HistoryJob then = job;
    then.when = known.getColumn(1).getString();
    require(checksum_of(then, points) != known.getColumn(2).getInt64(),
            fmt::format("history '{}' has these very figures already, as job {}", path_,
                        known.getColumn(0).getInt64()));
  }
}

HistoryJob History::add(const Comparison& comparison, const std::string& when) {
  NamedPoints points;
  for (const Verdict& verdict : comparison.verdicts) {
    if (const auto point = point_of(verdict)) points[whole_name(verdict.point)] = *point;
  }
  require(!points.empty(), "no case was measured on both sides: nothing to add to a history");
  HistoryJob job;
  job.when = when;
  job.revision = version_measured(comparison.head);
  job.reference = version_measured(comparison.base);
  job.machine = value_of(comparison.head, "host") + ", " + value_of(comparison.head, "cpu");
  job.cases = static_cast<int>(points.size());
  const std::int64_t checksum = checksum_of(job, points);
  return guarded(path_, [&] {
    SQLite::Transaction adding(*database_, SQLite::TransactionBehavior::IMMEDIATE);
    for (const HistoryJob& known : jobs()) {
      require(known.reference == job.reference,
              fmt::format("history '{}' is pinned to reference {}, not {}", path_, known.reference,
                          job.reference));
    }
    refuse_known(job, points);
    SQLite::Statement new_job(*database_,
                              "insert into job (happened, revision, reference, machine, crc32c) "
                              "values (?, ?, ?, ?, ?)");
    SQLite::bind(new_job, job.when, job.revision, job.reference, job.machine, checksum);
    new_job.exec();
    job.id = database_->getLastInsertRowid();
    for (const auto& [name, point] : points) {
      SQLite::Statement row(*database_, "insert into point values (?, ?, ?, ?, ?, ?, ?)");
      SQLite::bind(row, job.id, name, static_cast<int>(point.exact), point.value, point.low,
                   point.high, point.rounds);
      row.exec();
    }
    adding.commit();
    return job;
  });
}

std::vector<HistoryJob> History::jobs() const {
  return guarded(path_, [&] {
    SQLite::Statement rows(*database_,
                           "select id, happened, revision, reference, machine, "
                           "(select count(*) from point where point.job = job.id) "
                           "from job order by happened, id");
    std::vector<HistoryJob> jobs;
    while (rows.executeStep()) {
      jobs.push_back(job_of(rows));
      jobs.back().cases = rows.getColumn(5).getInt();
    }
    return jobs;
  });
}

std::vector<std::string> History::cases() const {
  return guarded(path_, [&] {
    SQLite::Statement rows(*database_, "select distinct name from point order by name");
    std::vector<std::string> names;
    while (rows.executeStep()) names.push_back(rows.getColumn(0).getString());
    return names;
  });
}

StoredSeries History::series(const std::string& name, const ChangeRule& rule) const {
  StoredSeries series;
  series.name = name;
  std::vector<double> values;
  guarded(path_, [&] {
    SQLite::Statement rows(
        *database_,
        "select id, happened, revision, reference, machine, exact, value, low, high, "
        "rounds from point join job on job.id = point.job where name = ? order by happened, id");
    rows.bind(1, name);
    while (rows.executeStep()) {
      StoredPoint point = figures_of(rows, 5);
      point.job = job_of(rows);
      values.push_back(point.value);
      series.points.push_back(std::move(point));
    }
  });
  require(!values.empty(), fmt::format("history '{}' has no case '{}'.{}", path_, name,
                                       did_you_mean(name, cases())));
  if (!series.points.front().exact) {
    series.changes = change_points(values, rule);
    return series;
  }
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (exact_figures_differ(values[i], values[i - 1]))
      series.changes.push_back({i, values[i - 1], values[i], 0});
  }
  return series;
}

int History::prune(int keep) {
  require(keep >= 0, fmt::format("a history keeps 0 jobs or more, not {}", keep));
  return guarded(path_, [&] {
    SQLite::Statement rows(*database_,
                           "delete from job where id not in "
                           "(select id from job order by happened desc, id desc limit ?)");
    rows.bind(1, keep);
    return rows.exec();
  });
}

}  // namespace collbench
