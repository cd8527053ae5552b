// Names of weft's types, for headers that only mention them.
#pragma once

namespace weft {

class Array;
class DType;
class Shape;
struct ShapeDtypeStruct;
struct None;
class Slice;
class Index;
class Axis;
class Axes;

class Jaxpr;
class TreeDef;

class Device;
class Mesh;
class PartitionSpec;
class Sharding;
class NamedSharding;

class SourceLoc;
class Error;
class ShapeError;
class DTypeError;
class TracerError;
class AxisError;
class PytreeError;
class DeviceError;
class CompileError;
class IoError;

}  // namespace weft
