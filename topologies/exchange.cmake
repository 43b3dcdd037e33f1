# Machines from other tools' files, and pictures and files from machines.
find_package(pugixml REQUIRED)
find_package(yaml-cpp REQUIRED)
set(exchange_headers
  bounds.h
  draw.h
  draw_outline.h
  import_graph.h
  import_rates.h
  import_simgrid_platform.h
  import_topology.h
  import_xml.h
  local_machine.h
  xml_text.h)
set(exchange_sources
  bounds.cc
  draw_arrange.cc
  draw_outline.cc
  draw_svg.cc
  export_dot.cc
  export_simgrid.cc
  export_toml.cc
  import_astra.cc
  import_graph.cc
  import_hwloc.cc
  import_nccl.cc
  import_nvidia_smi.cc
  import_rates.cc
  import_simgrid.cc
  import_simgrid_cluster.cc
  import_simgrid_routes.cc
  import_simgrid_units.cc
  import_simgrid_zones.cc
  import_topology.cc
  import_xml.cc
  local_machine.cc
  xml_text.cc)
