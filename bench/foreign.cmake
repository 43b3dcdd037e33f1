# Readers of other benchmarks' tables.
set(foreign_headers foreign_readers.h foreign_tables.h)
set(foreign_sources foreign_csv.cc foreign_json.cc foreign_lines.cc foreign_nccl.cc foreign_osu.cc
  foreign_records.cc foreign_tables.cc)
