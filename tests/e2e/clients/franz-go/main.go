// franz-go as a client of e2e.py: its default (idempotent) producer, assigned partitions.
//
//	franz-go create BOOTSTRAP TOPIC PARTITIONS
//	franz-go write  BOOTSTRAP TOPIC PARTITIONS CODEC DATASET
//	franz-go read   BOOTSTRAP TOPIC PARTITIONS COUNT OUT
//	franz-go group  BOOTSTRAP TOPIC GROUP ASSIGNOR INSTANCE
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func client(bootstrap string, options ...kgo.Opt) *kgo.Client {
	c, err := kgo.NewClient(append(options, kgo.SeedBrokers(strings.Split(bootstrap, ",")...))...)
	check(err)
	return c
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	check(err)
	return n
}

func record(topic string, partition int32, line []byte) *kgo.Record {
	fields := bytes.SplitN(line, []byte("\t"), 3)
	r := &kgo.Record{Topic: topic, Partition: partition, Value: fields[2]}
	if len(fields[0]) > 0 {
		r.Key = fields[0]
	}
	for _, one := range bytes.Split(fields[1], []byte(",")) {
		name, value, _ := bytes.Cut(one, []byte("="))
		if string(value) == "NULL" {
			value = nil
		}
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: string(name), Value: value})
	}
	return r
}

func write(ctx context.Context, bootstrap, topic string, partitions int, codec, path string) {
	codecs := map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}
	c := client(bootstrap, kgo.ProducerBatchCompression(codecs[codec]), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	file, err := os.Open(path)
	check(err)
	in := bufio.NewReaderSize(file, 1<<20)
	var failed atomic.Int64
	for index := 0; ; index++ {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		check(err)
		c.Produce(ctx, record(topic, int32(index%partitions), line[:len(line)-1]), func(_ *kgo.Record, err error) {
			if err != nil && failed.Add(1) == 1 {
				log.Print(err)
			}
		})
	}
	check(c.Flush(ctx))
	if failed.Load() > 0 {
		log.Fatalf("%d records failed", failed.Load())
	}
}

func read(ctx context.Context, bootstrap, topic string, partitions, count int, path string) {
	offsets := map[int32]kgo.Offset{}
	for p := 0; p < partitions; p++ {
		offsets[int32(p)] = kgo.NewOffset().AtStart()
	}
	c := client(bootstrap, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets}))
	file, err := os.Create(path)
	check(err)
	out := bufio.NewWriterSize(file, 1<<20)
	got := 0
	for got < count {
		fetches := c.PollFetches(ctx)
		check(fetches.Err0())
		fetches.EachError(func(_ string, _ int32, err error) { check(err) })
		fetches.EachRecord(func(r *kgo.Record) {
			key := len(r.Key)
			if r.Key == nil {
				key = -1
			}
			fmt.Fprintf(out, "%d|%d|%d|%s|", r.Partition, r.Offset, key, r.Key)
			for i, h := range r.Headers {
				if i > 0 {
					out.WriteByte(',')
				}
				out.WriteString(h.Key + "=")
				if h.Value == nil {
					out.WriteString("NULL")
				}
				out.Write(h.Value)
			}
			fmt.Fprintf(out, "|%d|", len(r.Value))
			out.Write(r.Value)
			out.WriteByte('\n')
			got++
		})
	}
	check(out.Flush())
}

// Commits what it has written before it lets a rebalance go on; leaves on SIGTERM.
func group(bootstrap, topic, name, assignor, instance string) {
	commit := func(c *kgo.Client) {
		ctx, done := context.WithTimeout(context.Background(), 20*time.Second)
		defer done()
		if err := c.CommitUncommittedOffsets(ctx); err != nil {
			log.Print(err)
		}
	}
	// While members join and sync a commit is refused: what is left is given another try when a partition goes.
	revoked := func(_ context.Context, c *kgo.Client, _ map[string][]int32) { commit(c) }
	balancers := map[string]kgo.GroupBalancer{"range": kgo.RangeBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer()}
	options := []kgo.Opt{kgo.ConsumerGroup(name), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsRevoked(revoked),
		kgo.Balancers(balancers[assignor]), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.SessionTimeout(10 * time.Second),
		kgo.HeartbeatInterval(500 * time.Millisecond)}
	if instance != "-" {
		options = append(options, kgo.InstanceID(instance))
	}
	c := client(bootstrap, options...)
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	for ctx.Err() == nil {
		fetches := c.PollRecords(ctx, 200)
		fetches.EachError(func(_ string, _ int32, err error) {
			if ctx.Err() == nil {
				log.Print(err)
			}
		})
		fetches.EachRecord(func(r *kgo.Record) {
			fmt.Fprintf(out, "%d|%d|%s\n", r.Partition, r.Offset, r.Value)
		})
		check(out.Flush())
		commit(c)
		c.AllowRebalance()
	}
	c.CloseAllowingRebalance()
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Second)
	defer cancel()
	a := os.Args[1:]
	switch a[0] {
	case "group":
		group(a[1], a[2], a[3], a[4], a[5])
	case "create":
		_, err := kadm.NewClient(client(a[1])).CreateTopic(ctx, int32(number(a[3])), 1, nil, a[2])
		check(err)
	case "write":
		write(ctx, a[1], a[2], number(a[3]), a[4], a[5])
	case "read":
		read(ctx, a[1], a[2], number(a[3]), number(a[4]), a[5])
	}
}
