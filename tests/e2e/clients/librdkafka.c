// librdkafka as a client of e2e.py, through its C interface, with an idempotent producer and assigned partitions.
//   librdkafka create BOOTSTRAP TOPIC PARTITIONS
//   librdkafka write  BOOTSTRAP TOPIC PARTITIONS CODEC DATASET
//   librdkafka read   BOOTSTRAP TOPIC PARTITIONS COUNT OUT
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long delivered, failed;

static void die(char const* what, char const* why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void on_delivery(rd_kafka_t* client, rd_kafka_message_t const* message, void* opaque) {
  (void)client;
  (void)opaque;
  if (message->err) {
    if (failed++ == 0) fprintf(stderr, "delivery: %s\n", rd_kafka_err2str(message->err));
  } else {
    delivered++;
  }
}

static rd_kafka_t* make(rd_kafka_type_t type, char const* bootstrap, char const* const* settings) {
  char error[512];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  if (rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap, error, sizeof error)) die("conf", error);
  for (; *settings; settings += 2)
    if (rd_kafka_conf_set(conf, settings[0], settings[1], error, sizeof error)) die("conf", error);
  if (type == RD_KAFKA_PRODUCER) rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
  rd_kafka_t* client = rd_kafka_new(type, conf, error, sizeof error);
  if (!client) die("client", error);
  return client;
}

static int create(char const* bootstrap, char const* topic, int partitions) {
  char error[512];
  rd_kafka_t* client = make(RD_KAFKA_PRODUCER, bootstrap, (char const*[]){NULL});
  rd_kafka_NewTopic_t* wanted = rd_kafka_NewTopic_new(topic, partitions, 1, error, sizeof error);
  if (!wanted) die("topic", error);
  rd_kafka_queue_t* queue = rd_kafka_queue_new(client);
  rd_kafka_CreateTopics(client, &wanted, 1, NULL, queue);
  rd_kafka_event_t* event = rd_kafka_queue_poll(queue, 30000);
  if (!event || rd_kafka_event_error(event)) die("create", event ? rd_kafka_event_error_string(event) : "timeout");
  size_t count;
  rd_kafka_topic_result_t const** results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
  if (count != 1 || rd_kafka_topic_result_error(results[0]))
    die("create", count ? rd_kafka_topic_result_error_string(results[0]) : "no result");
  return 0;
}

// "a=b,c=NULL" in place: the headers of one record.
static rd_kafka_headers_t* parse_headers(char* text) {
  rd_kafka_headers_t* headers = rd_kafka_headers_new(4);
  char* rest = NULL;
  for (char* one = strtok_r(text, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
    char* value = strchr(one, '=');
    *value++ = 0;
    int const is_null = strcmp(value, "NULL") == 0;
    rd_kafka_header_add(headers, one, -1, is_null ? NULL : value, is_null ? -1 : (ssize_t)strlen(value));
  }
  return headers;
}

static int write_all(char const* bootstrap, char const* topic, int partitions, char const* codec, char const* path) {
  rd_kafka_t* client = make(RD_KAFKA_PRODUCER, bootstrap,
                            (char const*[]){"compression.codec", codec, "enable.idempotence", "true", "linger.ms", "5", NULL});
  FILE* in = fopen(path, "r");
  if (!in) die(path, "cannot be opened");
  char* line = NULL;
  size_t size = 0;
  ssize_t length;
  long sent = 0;
  while ((length = getline(&line, &size, in)) > 0) {
    if (line[length - 1] == '\n') line[--length] = 0;
    char* headers = strchr(line, '\t');
    *headers++ = 0;
    char* value = strchr(headers, '\t');
    *value++ = 0;
    size_t const key_length = strlen(line);
    size_t const value_length = (size_t)(line + length - value);
    rd_kafka_headers_t* parsed = parse_headers(headers);
    rd_kafka_resp_err_t error;
    for (;;) {
      rd_kafka_headers_t* mine = rd_kafka_headers_copy(parsed);
      error = rd_kafka_producev(client, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION((int32_t)(sent % partitions)),
                                RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                RD_KAFKA_V_KEY(key_length ? line : NULL, key_length), RD_KAFKA_V_VALUE(value, value_length),
                                RD_KAFKA_V_HEADERS(mine), RD_KAFKA_V_END);
      if (!error) break;
      rd_kafka_headers_destroy(mine);
      if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) die("produce", rd_kafka_err2str(error));
      rd_kafka_poll(client, 100);
    }
    rd_kafka_headers_destroy(parsed);
    sent++;
    rd_kafka_poll(client, 0);
  }
  rd_kafka_flush(client, 120000);
  if (failed || delivered != sent) {
    fprintf(stderr, "%ld sent, %ld delivered, %ld failed\n", sent, delivered, failed);
    return 1;
  }
  return 0;
}

static void print_headers(rd_kafka_message_t const* message, FILE* out) {
  rd_kafka_headers_t* headers;
  if (rd_kafka_message_headers(message, &headers)) return;
  char const* name;
  void const* value;
  size_t size;
  for (size_t i = 0; !rd_kafka_header_get_all(headers, i, &name, &value, &size); i++) {
    fprintf(out, "%s%s=", i ? "," : "", name);
    if (value) fwrite(value, 1, size, out);
    else fputs("NULL", out);
  }
}

static int read_all(char const* bootstrap, char const* topic, int partitions, long count, char const* path) {
  rd_kafka_t* client = make(RD_KAFKA_CONSUMER, bootstrap,
                            (char const*[]){"group.id", "unused", "enable.auto.commit", "false", "check.crcs", "true",
                                            "enable.partition.eof", "true", NULL});
  rd_kafka_poll_set_consumer(client);
  rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(partitions);
  for (int p = 0; p < partitions; p++)
    rd_kafka_topic_partition_list_add(list, topic, p)->offset = RD_KAFKA_OFFSET_BEGINNING;
  rd_kafka_assign(client, list);
  FILE* out = fopen(path, "w");
  if (!out) die(path, "cannot be opened");
  long got = 0;
  int ended = 0;
  time_t const begin = time(NULL);
  while (ended < partitions && time(NULL) - begin < 300) {
    rd_kafka_message_t* message = rd_kafka_consumer_poll(client, 1000);
    if (!message) continue;
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      ended++;
    } else if (!message->err) {
      fprintf(out, "%d|%ld|%ld|", message->partition, (long)message->offset, message->key ? (long)message->key_len : -1L);
      if (message->key) fwrite(message->key, 1, message->key_len, out);
      fputc('|', out);
      print_headers(message, out);
      fprintf(out, "|%ld|", (long)message->len);
      fwrite(message->payload, 1, message->len, out);
      fputc('\n', out);
      got++;
    }
    rd_kafka_message_destroy(message);
  }
  if (fclose(out)) die(path, "cannot be written");
  if (got != count) fprintf(stderr, "%ld of %ld records read\n", got, count);
  _Exit(got != count);  // closing would wait for a group coordinator
}

int main(int argc, char** argv) {
  if (argc >= 5 && !strcmp(argv[1], "create")) return create(argv[2], argv[3], atoi(argv[4]));
  if (argc >= 7 && !strcmp(argv[1], "write")) return write_all(argv[2], argv[3], atoi(argv[4]), argv[5], argv[6]);
  if (argc >= 7 && !strcmp(argv[1], "read")) return read_all(argv[2], argv[3], atoi(argv[4]), atol(argv[5]), argv[6]);
  return 2;
}
