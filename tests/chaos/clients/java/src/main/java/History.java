import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Writes the rows of history_file.h. */
final class History implements Closeable {
  static final byte OK = 0, UNKNOWN = 2;
  static final byte COMMIT = 4, COMMITTED = 5;
  static final byte ASSIGNED = 1, REVOKED = 2, LOST = 3;
  static final int UNREADABLE = 0xffffffff;
  static final int VALUE_BYTES = 24;

  record Row(long offset, long sequence, int client, int leaderEpoch) {}

  private final OutputStream out;

  History(String path, int client) throws IOException {
    out = new BufferedOutputStream(new FileOutputStream(path), 1 << 16);
    write(buffer(16).put("MRHIST01".getBytes(StandardCharsets.US_ASCII)).putInt(client).putInt(0));
  }

  private static ByteBuffer buffer(int bytes) { return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN); }

  private static ByteBuffer head(int bytes, int kind, int detail, int partition) {
    return buffer(bytes).put((byte) kind).put((byte) detail).putShort((short) 0).putInt(partition);
  }

  private synchronized void write(ByteBuffer row) {
    try {
      out.write(row.array());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  void send(byte outcome, int partition, long sequence, long start, long end, long offset) {
    write(head(40, 1, outcome, partition).putLong(sequence).putLong(start).putLong(end).putLong(offset));
  }

  void poll(int partition, int assignment, long start, long end, long position, java.util.List<Row> rows) {
    var row = head(64 + 24 * rows.size(), 2, 0, partition).putInt(assignment).putInt(rows.size());
    row.putLong(start).putLong(end).putLong(position).putLong(-1).putLong(-1).putLong(-1);
    for (var each : rows) row.putLong(each.offset).putLong(each.sequence).putInt(each.client).putInt(each.leaderEpoch);
    write(row);
  }

  void latest(int partition, int leaderEpoch, long start, long end, long offset) {
    write(head(40, 3, 1, partition).putInt(leaderEpoch).putInt(0).putLong(start).putLong(end).putLong(offset));
  }

  void groupOffset(byte kind, byte outcome, int partition, int group, int generation, long start, long end, long offset) {
    write(head(40, kind, outcome, partition).putInt(group).putInt(generation).putLong(start).putLong(end).putLong(offset));
  }

  void owned(byte what, int partition, int group, int generation) {
    write(head(24, 6, what, partition).putInt(group).putInt(generation).putLong(System.nanoTime()));
  }

  @Override
  public synchronized void close() {
    try {
      out.close();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private static long checksum(int client, int partition, long sequence) {
    long hash = 0x6d696c6c72616365L;
    for (long word : new long[] {Integer.toUnsignedLong(client) << 32 | Integer.toUnsignedLong(partition), sequence}) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15L;
      hash ^= hash >>> 31;
    }
    return hash;
  }

  static byte[] value(int client, int partition, long sequence, int bytes) {
    var out = buffer(Math.max(bytes, VALUE_BYTES));
    out.putInt(client).putInt(partition).putLong(sequence).putLong(checksum(client, partition, sequence));
    while (out.hasRemaining()) out.put((byte) sequence);
    return out.array();
  }

  static Row row(long offset, byte[] value, int partition, boolean isPlain, int leaderEpoch) {
    var unreadable = new Row(offset, 0, UNREADABLE, leaderEpoch);
    if (!isPlain || value == null || value.length < VALUE_BYTES) return unreadable;
    var in = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN);
    int client = in.getInt();
    if (in.getInt() != partition) return unreadable;
    long sequence = in.getLong();
    if (in.getLong() != checksum(client, partition, sequence)) return unreadable;
    while (in.hasRemaining()) {
      if (in.get() != (byte) sequence) return unreadable;
    }
    return new Row(offset, sequence, client, leaderEpoch);
  }
}
