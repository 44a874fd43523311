// franz-go as a client of a run under faults. It writes down what it does and sees (history_file.h), says on standard output
// once a second how many records that were, and goes on until SIGTERM.
//
//	franz-go produce BOOTSTRAP TOPIC PARTITIONS CLIENT FILE RECORDS_PER_SECOND VALUE_BYTES
//	franz-go read    BOOTSTRAP TOPIC PARTITIONS CLIENT FILE
//	franz-go group   BOOTSTRAP TOPIC PARTITIONS CLIENT FILE GROUP NUMBER
package main

import (
	"context"
	"fmt"
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
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	flushSecondsMax = 130
	callSecondsMax  = 20
	commitEvery     = 200 * time.Millisecond
	askEvery        = 200 * time.Millisecond
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	check(err)
	return n
}

type program struct {
	bootstrap, topic string
	partitions       int
	client           uint32
	history          *history
	records          atomic.Int64
}

func (p *program) connect(options ...kgo.Opt) *kgo.Client {
	c, err := kgo.NewClient(append(options, kgo.SeedBrokers(strings.Split(p.bootstrap, ",")...))...)
	check(err)
	return c
}

func (p *program) tell() { fmt.Printf("records %d\n", p.records.Load()) }

func (p *program) tellAlways() {
	for range time.Tick(time.Second) {
		p.tell()
	}
}

// Returns whether every record was answered.
func (p *program) produce(ctx context.Context, rate, bytes int) bool {
	c := p.connect(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(5*time.Millisecond),
		kgo.MaxBufferedRecords(100_000), kgo.RecordDeliveryTimeout(120*time.Second), kgo.ProducerBatchCompression(kgo.NoCompression()))
	next := make([]uint64, p.partitions)
	began := time.Now()
	for sent := 0; ctx.Err() == nil; {
		for wanted := int(time.Since(began).Seconds() * float64(rate)); sent < wanted && ctx.Err() == nil; sent++ {
			partition := int32(sent % p.partitions)
			sequence := next[partition]
			next[partition]++
			start := now()
			record := &kgo.Record{Topic: p.topic, Partition: partition, Value: value(p.client, uint32(partition), sequence, bytes)}
			c.Produce(context.Background(), record, func(r *kgo.Record, err error) {
				if err != nil {
					log.Printf("partition %d sequence %d: %v", partition, sequence, err)
					p.history.send(outcomeUnknown, partition, sequence, start, now(), -1)
					return
				}
				p.history.send(outcomeOk, partition, sequence, start, now(), r.Offset)
				p.records.Add(1)
			})
		}
		time.Sleep(time.Millisecond)
	}
	flushing, done := context.WithTimeout(context.Background(), flushSecondsMax*time.Second)
	defer done()
	err := c.Flush(flushing)
	if err != nil {
		log.Printf("flush: %v, %d records without an answer", err, c.BufferedProduceRecords())
	}
	return err == nil
}

// What one consumer knows of its partitions.
type positions struct {
	next       map[int32]int64
	assignment map[int32]int32
	lastPoll   map[int32]int64 // when the poll before began, which let the next fetch go
}

func newPositions() positions {
	return positions{map[int32]int64{}, map[int32]int32{}, map[int32]int64{}}
}

func (p *program) note(at positions, fetches kgo.Fetches, start int64) {
	end := now()
	fetches.EachPartition(func(t kgo.FetchTopicPartition) {
		if t.Err != nil {
			log.Printf("poll of partition %d: %v", t.Partition, t.Err)
		}
		rows := make([]recordRow, 0, len(t.Records))
		for _, r := range t.Records {
			client, sequence, ok := parse(r.Value, r.Partition)
			if !ok || r.Key != nil || len(r.Headers) > 0 {
				client = unreadable
			}
			rows = append(rows, recordRow{r.Offset, sequence, client, r.LeaderEpoch})
		}
		if len(rows) == 0 {
			return
		}
		if _, known := at.next[t.Partition]; !known {
			at.next[t.Partition] = rows[0].offset
		}
		flags, from := byte(0), start
		if last, known := at.lastPoll[t.Partition]; known {
			flags, from = isTimed, last
		}
		p.history.poll(flags, t.Partition, at.assignment[t.Partition], from, end, at.next[t.Partition], t.HighWatermark,
			t.LastStableOffset, t.LogStartOffset, rows)
		at.next[t.Partition] = rows[len(rows)-1].offset + 1
		at.lastPoll[t.Partition] = start
		p.records.Add(int64(len(rows)))
	})
}

func (p *program) read(ctx context.Context) {
	offsets := map[int32]kgo.Offset{}
	for partition := range p.partitions {
		offsets[int32(partition)] = kgo.NewOffset().AtStart()
	}
	c := p.connect(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{p.topic: offsets}), kgo.FetchMaxWait(100*time.Millisecond))
	go p.askForEnds(ctx)
	at := newPositions()
	for ctx.Err() == nil {
		start := now()
		p.note(at, c.PollFetches(ctx), start)
	}
}

func (p *program) askForEnds(ctx context.Context) {
	admin := kadm.NewClient(p.connect())
	for ctx.Err() == nil {
		call, done := context.WithTimeout(ctx, callSecondsMax*time.Second)
		start := now()
		listed, err := admin.ListEndOffsets(call, p.topic)
		end := now()
		done()
		if err != nil && ctx.Err() == nil {
			log.Printf("latest offsets: %v", err)
		}
		listed.Each(func(each kadm.ListedOffset) {
			if each.Err == nil {
				p.history.latest(each.Partition, each.LeaderEpoch, start, end, each.Offset)
			}
		})
		time.Sleep(askEvery)
	}
}

type member struct {
	*program
	group     int32
	at        positions
	committed map[int32]int64
	owned     map[int32]bool
	asked     int64 // offsets are asked for once an assignment is taken up
}

func (m *member) generation(c *kgo.Client) int32 {
	_, generation := c.GroupMetadata()
	return generation
}

func (m *member) onAssigned(_ context.Context, c *kgo.Client, topics map[string][]int32) {
	m.asked = now()
	for _, partition := range topics[m.topic] {
		m.at.assignment[partition]++
		delete(m.at.lastPoll, partition)
		m.owned[partition] = true
		m.history.owned(assigned, partition, m.group, m.generation(c))
	}
}

// The offsets that the group had committed, before they are fetched from.
func (m *member) onOffsets(_ context.Context, topics map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	end := now()
	for partition, offset := range topics[m.topic] {
		at := offset.EpochOffset().Offset
		m.history.groupOffset(kindCommitted, outcomeOk, partition, m.group, -1, m.asked, end, max(at, -1))
		m.at.next[partition], m.committed[partition] = max(at, 0), max(at, 0)
	}
	return topics, nil
}

func (m *member) onGone(what byte) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, c *kgo.Client, topics map[string][]int32) {
		if what == revoked {
			m.commit(c)
		}
		for _, partition := range topics[m.topic] {
			m.history.owned(what, partition, m.group, m.generation(c))
			delete(m.owned, partition)
		}
	}
}

func (m *member) commit(c *kgo.Client) {
	offsets := map[int32]kgo.EpochOffset{}
	for partition := range m.owned {
		if next, known := m.at.next[partition]; known && next != m.committed[partition] {
			offsets[partition] = kgo.EpochOffset{Epoch: -1, Offset: next}
		}
	}
	if len(offsets) == 0 {
		return
	}
	generation := m.generation(c)
	ctx, done := context.WithTimeout(context.Background(), callSecondsMax*time.Second)
	defer done()
	start := now()
	isAccepted := map[int32]bool{}
	c.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{m.topic: offsets},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
			if err != nil {
				log.Printf("commit: %v", err)
				return
			}
			for _, topic := range answer.Topics {
				for _, each := range topic.Partitions {
					isAccepted[each.Partition] = each.ErrorCode == 0
				}
			}
		})
	end := now()
	for partition, offset := range offsets {
		outcome := byte(outcomeUnknown)
		if isAccepted[partition] {
			outcome = outcomeOk
			m.committed[partition] = offset.Offset
		}
		m.history.groupOffset(kindCommit, outcome, partition, m.group, generation, start, end, offset.Offset)
	}
}

func (m *member) run(ctx context.Context, name string) {
	c := m.connect(kgo.ConsumerGroup(name), kgo.ConsumeTopics(m.topic), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(m.onAssigned), kgo.OnPartitionsRevoked(m.onGone(revoked)), kgo.OnPartitionsLost(m.onGone(lost)),
		kgo.AdjustFetchOffsetsFn(m.onOffsets), kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.SessionTimeout(10*time.Second), kgo.HeartbeatInterval(500*time.Millisecond))
	last := time.Now()
	for ctx.Err() == nil {
		start := now()
		polling, done := context.WithTimeout(ctx, commitEvery)
		m.note(m.at, c.PollFetches(polling), start)
		done()
		if time.Since(last) >= commitEvery {
			m.commit(c)
			last = time.Now()
		}
		c.AllowRebalance()
	}
	c.CloseAllowingRebalance()
}

func main() {
	if len(os.Args) < 7 {
		log.Fatal("too few arguments; see the head of the source")
	}
	a := os.Args[2:]
	p := &program{bootstrap: a[0], topic: a[1], partitions: number(a[2]), client: uint32(number(a[3]))}
	p.history = openHistory(a[4], p.client)
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	go p.tellAlways()
	isWell := true
	switch os.Args[1] {
	case "produce":
		isWell = p.produce(ctx, number(a[5]), number(a[6]))
	case "read":
		p.read(ctx)
	case "group":
		m := &member{program: p, group: int32(number(a[6])), at: newPositions(), committed: map[int32]int64{}, owned: map[int32]bool{}}
		m.run(ctx, a[5])
	default:
		log.Fatal("produce, read or group; see the head of the source")
	}
	p.history.close()
	p.tell()
	if !isWell {
		os.Exit(1)
	}
}
