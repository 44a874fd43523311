package main

import (
	"bufio"
	"encoding/binary"
	"log"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// The rows of history_file.h.
const (
	kindSend, kindPoll, kindEnd, kindCommit, kindCommitted, kindOwned = 1, 2, 3, 4, 5, 6
	outcomeOk, outcomeUnknown                                         = 0, 2
	assigned, revoked, lost                                           = 1, 2, 3
	isTimed                                                           = 2
	unreadable                                                        = 0xffffffff
)

type history struct {
	mutex sync.Mutex
	file  *os.File
	out   *bufio.Writer
}

type recordRow struct {
	offset   int64
	sequence uint64
	client   uint32
	epoch    int32
}

// CLOCK_MONOTONIC, which the other clients and the driver use, too.
func now() int64 {
	var time syscall.Timespec
	if _, _, err := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&time)), 0); err != 0 {
		log.Fatal(err)
	}
	return time.Nano()
}

func openHistory(path string, client uint32) *history {
	file, err := os.Create(path)
	check(err)
	h := &history{file: file, out: bufio.NewWriterSize(file, 1<<16)}
	h.write(func(b []byte) []byte {
		b = append(b, "MRHIST01"...)
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, client), 0)
	})
	return h
}

func (h *history) write(row func([]byte) []byte) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	_, err := h.out.Write(row(make([]byte, 0, 64)))
	check(err)
}

func (h *history) close() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	check(h.out.Flush())
	check(h.file.Close())
}

func head(b []byte, kind, detail byte, partition int32) []byte {
	return binary.LittleEndian.AppendUint32(append(b, kind, detail, 0, 0), uint32(partition))
}

func words(b []byte, values ...int64) []byte {
	for _, value := range values {
		b = binary.LittleEndian.AppendUint64(b, uint64(value))
	}
	return b
}

func halves(b []byte, values ...int32) []byte {
	for _, value := range values {
		b = binary.LittleEndian.AppendUint32(b, uint32(value))
	}
	return b
}

func (h *history) send(outcome byte, partition int32, sequence uint64, start, end, offset int64) {
	h.write(func(b []byte) []byte {
		return words(head(b, kindSend, outcome, partition), int64(sequence), start, end, offset)
	})
}

func (h *history) poll(flags byte, partition, assignment int32, start, end, position, mark, stable, logStart int64, records []recordRow) {
	h.write(func(b []byte) []byte {
		b = halves(head(b, kindPoll, flags, partition), assignment, int32(len(records)))
		b = words(b, start, end, position, mark, stable, logStart)
		for _, r := range records {
			b = halves(words(b, r.offset, int64(r.sequence)), int32(r.client), r.epoch)
		}
		return b
	})
}

func (h *history) latest(partition, epoch int32, start, end, offset int64) {
	h.write(func(b []byte) []byte {
		return words(halves(head(b, kindEnd, 1, partition), epoch, 0), start, end, offset)
	})
}

func (h *history) groupOffset(kind, outcome byte, partition, group, generation int32, start, end, offset int64) {
	h.write(func(b []byte) []byte {
		return words(halves(head(b, kind, outcome, partition), group, generation), start, end, offset)
	})
}

func (h *history) owned(what byte, partition, group, generation int32) {
	h.write(func(b []byte) []byte {
		return words(halves(head(b, kindOwned, what, partition), group, generation), now())
	})
}

const valueBytes = 24

func checksum(client, partition uint32, sequence uint64) uint64 {
	hash := uint64(0x6d696c6c72616365)
	for _, word := range []uint64{uint64(client)<<32 | uint64(partition), sequence} {
		hash = (hash ^ word) * 0x9e3779b97f4a7c15
		hash ^= hash >> 31
	}
	return hash
}

func value(client, partition uint32, sequence uint64, size int) []byte {
	b := make([]byte, 0, max(size, valueBytes))
	b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, client), partition)
	b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, sequence), checksum(client, partition, sequence))
	for len(b) < size {
		b = append(b, byte(sequence))
	}
	return b
}

func parse(b []byte, partition int32) (client uint32, sequence uint64, ok bool) {
	if len(b) < valueBytes {
		return unreadable, 0, false
	}
	client, sequence = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[8:])
	if binary.LittleEndian.Uint32(b[4:]) != uint32(partition) ||
		binary.LittleEndian.Uint64(b[16:]) != checksum(client, uint32(partition), sequence) {
		return unreadable, 0, false
	}
	for _, each := range b[valueBytes:] {
		if each != byte(sequence) {
			return unreadable, 0, false
		}
	}
	return client, sequence, true
}
