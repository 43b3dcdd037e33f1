#include "bench/verdicts/history.h"

#include <cmath>

#include <fmt/format.h>
#include <sqlite3.h>

#include "core/error.h"
#include "core/suggest.h"

namespace collbench {
namespace {

constexpr int schema_version = 1;
constexpr int patience_ms = 10'000;  // for another process that writes

constexpr const char* schema = R"(
create table job (id integer primary key, happened text not null, revision text not null,
                  reference text not null, machine text not null) strict;
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

}  // namespace

/// A prepared statement; values are bound and read by position, from 0.
class History::Statement {
 public:
  Statement(const History& history, const std::string& sql) : history_(history) {
    check(sqlite3_prepare_v2(history.database_, sql.c_str(), -1, &statement_, nullptr));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int place, const std::string& text) {
    check(sqlite3_bind_text(statement_, place + 1, text.data(), static_cast<int>(text.size()),
                            SQLITE_TRANSIENT));
    return *this;
  }
  Statement& bind(int place, double value) {
    check(sqlite3_bind_double(statement_, place + 1, value));
    return *this;
  }
  Statement& bind(int place, std::int64_t value) {
    check(sqlite3_bind_int64(statement_, place + 1, value));
    return *this;
  }
  /// Whether there is a row.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) check(code);
    return code == SQLITE_ROW;
  }
  std::string text(int column) const {
    const auto* bytes = sqlite3_column_text(statement_, column);
    return bytes == nullptr ? "" : reinterpret_cast<const char*>(bytes);
  }
  double number(int column) const { return sqlite3_column_double(statement_, column); }
  std::int64_t whole(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  void check(int code) const {
    if (code == SQLITE_OK) return;
    const std::string text =
        fmt::format("history '{}': {}", history_.path_, sqlite3_errmsg(history_.database_));
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) throw InvalidArgument(text);
    throw Unavailable(text);
  }

  const History& history_;
  sqlite3_stmt* statement_ = nullptr;
};

History::History(const std::string& path) : path_(path) {
  if (sqlite3_open(path.c_str(), &database_) != SQLITE_OK) {
    const std::string reason = sqlite3_errmsg(database_);
    sqlite3_close(database_);
    throw Unavailable(fmt::format("cannot open history '{}': {}", path, reason));
  }
  try {
    sqlite3_busy_timeout(database_, patience_ms);
    check_version();
  } catch (...) {
    sqlite3_close(database_);
    throw;
  }
}

History::~History() { sqlite3_close(database_); }

void History::run(const std::string& sql) {
  char* message = nullptr;
  if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, &message) == SQLITE_OK) return;
  const std::string reason = message == nullptr ? "unknown reason" : message;
  sqlite3_free(message);
  throw Unavailable(fmt::format("history '{}': {}", path_, reason));
}

void History::check_version() {
  const auto version = [&] {
    Statement statement(*this, "pragma user_version");
    return statement.step() ? statement.whole(0) : 0;
  };
  if (version() == 0) {
    run("begin immediate");  // two processes may make it at once
    if (version() == 0) {
      Statement tables(*this, "select count(*) from sqlite_master");
      tables.step();
      require(tables.whole(0) == 0, fmt::format("'{}' is no history of collbench", path_));
      run(fmt::format("{}; pragma user_version = {}", schema, schema_version));
    }
    run("commit");
  }
  require(version() == schema_version,
          fmt::format("history '{}' has schema version {}; this collbench reads {}", path_,
                      version(), schema_version));
  run("pragma foreign_keys = on");
}

HistoryJob History::add(const Comparison& comparison, const std::string& when) {
  std::vector<std::pair<std::string, StoredPoint>> points;
  for (const Verdict& verdict : comparison.verdicts) {
    if (const auto point = point_of(verdict)) points.emplace_back(verdict.name, *point);
  }
  require(!points.empty(), "no case was measured on both sides: nothing to add to a history");
  HistoryJob job;
  job.when = when;
  job.revision = value_of(comparison.head, "git_revision");
  job.reference = value_of(comparison.base, "git_revision");
  job.machine = value_of(comparison.head, "host") + ", " + value_of(comparison.head, "cpu");
  job.cases = static_cast<int>(points.size());
  for (const HistoryJob& known : jobs()) {
    require(known.reference == job.reference,
            fmt::format("history '{}' is pinned to reference {}, not {}", path_, known.reference,
                        job.reference));
  }
  run("begin immediate");
  try {
    Statement(*this, "insert into job (happened, revision, reference, machine) values (?, ?, ?, ?)")
        .bind(0, job.when)
        .bind(1, job.revision)
        .bind(2, job.reference)
        .bind(3, job.machine)
        .step();
    job.id = sqlite3_last_insert_rowid(database_);
    for (const auto& [name, point] : points) {
      Statement(*this, "insert into point values (?, ?, ?, ?, ?, ?, ?)")
          .bind(0, job.id)
          .bind(1, name)
          .bind(2, static_cast<std::int64_t>(point.exact))
          .bind(3, point.value)
          .bind(4, point.low)
          .bind(5, point.high)
          .bind(6, static_cast<std::int64_t>(point.rounds))
          .step();
    }
    run("commit");
  } catch (...) {
    sqlite3_exec(database_, "rollback", nullptr, nullptr, nullptr);
    throw;
  }
  return job;
}

std::vector<HistoryJob> History::jobs() const {
  Statement statement(*this,
                      "select id, happened, revision, reference, machine, "
                      "(select count(*) from point where point.job = job.id) "
                      "from job order by happened, id");
  std::vector<HistoryJob> jobs;
  while (statement.step()) {
    jobs.push_back({statement.whole(0), statement.text(1), statement.text(2), statement.text(3),
                    statement.text(4), static_cast<int>(statement.whole(5))});
  }
  return jobs;
}

std::vector<std::string> History::cases() const {
  Statement statement(*this, "select distinct name from point order by name");
  std::vector<std::string> names;
  while (statement.step()) names.push_back(statement.text(0));
  return names;
}

StoredSeries History::series(const std::string& name, const ChangeRule& rule) const {
  Statement statement(*this,
                      "select id, happened, revision, reference, machine, exact, value, low, high, "
                      "rounds from point join job on job.id = point.job where name = ? "
                      "order by happened, id");
  statement.bind(0, name);
  StoredSeries series;
  series.name = name;
  std::vector<double> values;
  while (statement.step()) {
    StoredPoint point;
    point.job = {statement.whole(0), statement.text(1), statement.text(2),
                 statement.text(3),  statement.text(4), 0};
    point.exact = statement.whole(5) != 0;
    point.value = statement.number(6);
    point.low = statement.number(7);
    point.high = statement.number(8);
    point.rounds = static_cast<int>(statement.whole(9));
    values.push_back(point.value);
    series.points.push_back(std::move(point));
  }
  require(!values.empty(), fmt::format("history '{}' has no case '{}'.{}", path_, name,
                                       did_you_mean(name, cases())));
  if (!series.points.front().exact) {
    series.changes = change_points(values, rule);
    return series;
  }
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] != values[i - 1]) series.changes.push_back({i, values[i - 1], values[i], 0});
  }
  return series;
}

int History::prune(int keep) {
  require(keep >= 0, fmt::format("a history keeps 0 jobs or more, not {}", keep));
  Statement statement(*this,
                      "delete from job where id not in "
                      "(select id from job order by happened desc, id desc limit ?)");
  statement.bind(0, static_cast<std::int64_t>(keep)).step();
  return sqlite3_changes(database_);
}

}  // namespace collbench
