#include "bench/verdicts/history.h"

#include <cmath>

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>
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

/// Runs what asks the database; its errors become ours.
template <typename Action>
auto guarded(const std::string& path, Action action) {
  try {
    return action();
  } catch (const SQLite::Exception& error) {
    const std::string text = fmt::format("history '{}': {}", path, error.what());
    const int code = error.getErrorCode();
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) throw InvalidArgument(text);
    throw Unavailable(text);
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

}  // namespace

History::History(const std::string& path) : path_(path) {
  guarded(path_, [&] {
    database_ = std::make_unique<SQLite::Database>(
        path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, patience_ms);
    if (version_of(*database_) == 0) {
      // Two processes may make it at once.
      SQLite::Transaction making(*database_, SQLite::TransactionBehavior::IMMEDIATE);
      if (version_of(*database_) == 0) {
        require(database_->execAndGet("select count(*) from sqlite_master").getInt() == 0,
                fmt::format("'{}' is no history of collbench", path_));
        database_->exec(fmt::format("{}; pragma user_version = {}", schema, schema_version));
      }
      making.commit();
    }
    const int version = version_of(*database_);
    require(version == schema_version,
            fmt::format("history '{}' has schema version {}; this collbench reads {}", path_,
                        version, schema_version));
    database_->exec("pragma foreign_keys = on");
  });
}

History::~History() = default;

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
  return guarded(path_, [&] {
    SQLite::Transaction adding(*database_, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement new_job(
        *database_, "insert into job (happened, revision, reference, machine) values (?, ?, ?, ?)");
    SQLite::bind(new_job, job.when, job.revision, job.reference, job.machine);
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
      StoredPoint point;
      point.job = job_of(rows);
      point.exact = rows.getColumn(5).getInt() != 0;
      point.value = rows.getColumn(6).getDouble();
      point.low = rows.getColumn(7).getDouble();
      point.high = rows.getColumn(8).getDouble();
      point.rounds = rows.getColumn(9).getInt();
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
    if (values[i] != values[i - 1]) series.changes.push_back({i, values[i - 1], values[i], 0});
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
