// kafkajs as a client of e2e.py. Of the codecs it has none and gzip.
//   main.js create BOOTSTRAP TOPIC PARTITIONS | write BOOTSTRAP TOPIC PARTITIONS CODEC DATASET
//   main.js read BOOTSTRAP TOPIC PARTITIONS COUNT OUT | group BOOTSTRAP TOPIC GROUP ASSIGNOR INSTANCE
// It can neither assign partitions by hand nor be a static member, and its assignor is its own: ASSIGNOR and INSTANCE say nothing.
// It cannot write a header without a value, which is left out.
const fs = require('fs');
const readline = require('readline');
const {Kafka, CompressionTypes, logLevel} = require('kafkajs');

const [verb, bootstrap, topic, ...rest] = process.argv.slice(2);
const kafka = new Kafka({clientId: 'kafkajs', brokers: bootstrap.split(','), logLevel: logLevel.ERROR, retry: {retries: 60, maxRetryTime: 1000}});

function headersOf(text) {
  const out = {};
  for (const one of text.split(',')) {
    const at = one.indexOf('=');
    if (one.slice(at + 1) !== 'NULL') out[one.slice(0, at)] = one.slice(at + 1);
  }
  return out;
}

async function create(partitions) {
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({topics: [{topic, numPartitions: Number(partitions), replicationFactor: 1}], waitForLeaders: true});
  await admin.disconnect();
}

async function write(partitions, codec, path) {
  const producer = kafka.producer({idempotent: true, maxInFlightRequests: 1});
  await producer.connect();
  const compression = {none: CompressionTypes.None, gzip: CompressionTypes.GZIP}[codec];
  let index = 0;
  let bytes = 0;
  let messages = [];
  const send = async () => {
    if (messages.length) await producer.send({topic, compression, messages});
    messages = [];
    bytes = 0;
  };
  for await (const line of readline.createInterface({input: fs.createReadStream(path), crlfDelay: Infinity})) {
    const [key, headers, value] = line.split('\t');
    messages.push({key: key || null, value, headers: headersOf(headers), partition: index++ % Number(partitions)});
    bytes += Buffer.byteLength(value);
    if (bytes > 200000) await send();
  }
  await send();
  await producer.disconnect();
}

function rowOf(partition, message) {
  const headers = Object.entries(message.headers).map(([name, value]) => `${name}=${value === null ? 'NULL' : value}`).join(',');
  const key = message.key === null ? -1 : message.key.length;
  return `${partition}|${message.offset}|${key}|${message.key ?? ''}|${headers}|${message.value.length}|${message.value}\n`;
}

async function read(partitions, count, path) {
  const consumer = kafka.consumer({groupId: `${topic}-${process.pid}`, maxWaitTimeInMs: 200});
  await consumer.connect();
  await consumer.subscribe({topic, fromBeginning: true});
  const out = fs.openSync(path, 'w');
  let got = 0;
  await new Promise((done, failed) => {
    setTimeout(() => failed(new Error(`${got} of ${count} records read`)), 300000).unref();
    consumer.run({autoCommit: false, eachBatch: async ({batch, resolveOffset, heartbeat}) => {
      for (const message of batch.messages) {
        fs.writeSync(out, rowOf(batch.partition, message));
        resolveOffset(message.offset);
        got++;
      }
      await heartbeat();
      if (got >= Number(count)) done();
    }}).catch(failed);
  });
  fs.closeSync(out);
  await consumer.disconnect();
}

// process.stdout may still hold what it was given when the process ends.
function say(text) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length;) {
    try {
      at += fs.writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

// Commits what it has written before it tells the group that it lives, which is when it hears of a rebalance.
async function group(name) {
  const consumer = kafka.consumer({groupId: name, sessionTimeout: 10000, heartbeatInterval: 500, maxWaitTimeInMs: 200});
  await consumer.connect();
  await consumer.subscribe({topic, fromBeginning: true});
  let isOver = false;
  await consumer.run({autoCommit: false, eachBatchAutoResolve: false, eachBatch: async ({batch, resolveOffset, heartbeat, isRunning, isStale}) => {
    for (let at = 0; at < batch.messages.length && isRunning() && !isStale() && !isOver; at += 200) {
      const some = batch.messages.slice(at, at + 200);
      say(some.map((one) => `${batch.partition}|${one.offset}|${one.value}\n`).join(''));
      const last = some[some.length - 1].offset;
      resolveOffset(last);
      await consumer.commitOffsets([{topic, partition: batch.partition, offset: String(BigInt(last) + 1n)}]);
      await heartbeat();
    }
  }});
  process.on('SIGTERM', async () => {
    isOver = true;
    await consumer.disconnect();
    process.exit(0);
  });
}

const verbs = {create, write, read, group};
verbs[verb](...rest).catch((error) => {
  console.error(error);
  process.exit(1);
});
