// What protoc wrote, compiled with the rest of the folder: alone, each of the two would take
// seconds to read gRPC's headers. They lie in a folder of system headers, so our warnings leave
// them alone.
#include "grpc_recvbuf.grpc.pb.cc"
#include "grpc_recvbuf.pb.cc"
