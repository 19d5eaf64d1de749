import { describe, expect, test } from 'vitest'
import { readTraceTarget } from './otlp-settings.ts'
import type { OtlpSettings } from './otlp-settings.ts'

function settings(flag: string, env: NodeJS.ProcessEnv = {}): OtlpSettings {
  const read = readTraceTarget(flag, env)
  if (!read.ok || read.target.settings === undefined) throw new Error(`no traces: ${JSON.stringify(read)}`)
  return read.target.settings
}

function problem(flag: string, env: NodeJS.ProcessEnv = {}): string | undefined {
  const read = readTraceTarget(flag, env)
  return read.ok ? undefined : read.problem
}

describe('whether traces are sent', () => {
  test('not unless somebody asks for it', () => {
    expect(readTraceTarget('', {})).toEqual({ ok: true, target: { settings: undefined } })
    expect(readTraceTarget('', { OTEL_SERVICE_NAME: 'proxy', OTEL_EXPORTER_OTLP_ENDPOINT: ' ' })).toEqual({
      ok: true,
      target: { settings: undefined },
    })
  })

  test.each([
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' },
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' },
  ])('an endpoint in a variable is enough: %j', (env) => {
    expect(settings('', env)).toMatchObject({ protocol: 'http/protobuf', url: 'http://collector:4318/v1/traces' })
  })

  test('OTEL_TRACES_EXPORTER=otlp alone means the collector on this machine', () => {
    expect(settings('', { OTEL_TRACES_EXPORTER: 'otlp' }).url).toBe('http://localhost:4318/v1/traces')
    const grpc = settings('', { OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })
    expect(grpc).toMatchObject({ protocol: 'grpc', url: 'http://localhost:4317' })
  })

  test.each([{ OTEL_SDK_DISABLED: 'TRUE' }, { OTEL_TRACES_EXPORTER: 'none' }])('%j turns them off', (env) => {
    const read = readTraceTarget('http://collector:4318', { ...env, OTEL_EXPORTER_OTLP_PROTOCOL: 'nonsense' })
    expect(read).toEqual({ ok: true, target: { settings: undefined, off: expect.stringMatching(/^OTEL_\w+=\w+$/) } })
  })
})

describe('the address', () => {
  test.each([
    ['http://collector:4318', 'http/protobuf', 'http://collector:4318/v1/traces'],
    ['https://collector', 'http/protobuf', 'https://collector/v1/traces'],
    ['http://collector:4318/', 'http/protobuf', 'http://collector:4318/v1/traces'],
    ['http://collector:4318/v1/traces', 'http/protobuf', 'http://collector:4318/v1/traces'],
    ['https://host/otlp?tenant=a', 'http/protobuf', 'https://host/otlp/v1/traces?tenant=a'],
    ['http://collector:4317', 'grpc', 'http://collector:4317'],
    ['https://[2001:db8::1]:4317/', 'grpc', 'https://[2001:db8::1]:4317'],
    ['grpc://collector', 'grpc', 'http://collector:4317'],
    ['grpcs://collector:443', 'grpc', 'https://collector:443'],
  ])('--otlp-endpoint=%s is %s to %s', (flag, protocol, url) => {
    expect(settings(flag)).toMatchObject({ protocol, url })
  })

  test('the flag wins over the variables, and the one for traces over the one for everything', () => {
    const all = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://all:4318/base' }
    const traces = { ...all, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces:4318/as-it-is' }
    expect(settings('http://flag:4318', traces).url).toBe('http://flag:4318/v1/traces')
    expect(settings('', traces).url).toBe('http://traces:4318/as-it-is')
    expect(settings('', all).url).toBe('http://all:4318/base/v1/traces')
  })

  test('the variable for the protocol wins over the port', () => {
    expect(settings('http://c:4317', { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' })).toMatchObject({
      protocol: 'http/protobuf',
      url: 'http://c:4317/v1/traces',
    })
    const grpc = { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' }
    expect(settings('http://c:4318', grpc)).toMatchObject({ protocol: 'grpc', url: 'http://c:4318' })
  })
})

test('what the variables leave open has the values of the specification', () => {
  expect(settings('http://c:4318')).toEqual({
    protocol: 'http/protobuf',
    url: 'http://c:4318/v1/traces',
    headers: {},
    timeoutMs: 10_000,
    compression: 'none',
    tls: {},
    sampling: { ratio: 1, followsParent: true },
    batch: { maxQueueSize: 2048, maxExportBatchSize: 512, scheduledDelayMs: 5000, exportTimeoutMs: 30_000 },
    resource: {},
  })
})

test('every variable is used, those for traces first', () => {
  const env = {
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20one,x-all=1',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=Bearer%20two',
    OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '2000',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_EXPORTER_OTLP_CERTIFICATE: '/ca.pem',
    OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: '/client.pem',
    OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: '/client.key',
    OTEL_SERVICE_NAME: 'edge-proxy',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=other, deployment.environment.name = test%2Cstage',
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_BSP_EXPORT_TIMEOUT: '200',
    OTEL_BSP_MAX_QUEUE_SIZE: '20',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10',
  }
  expect(settings('https://c:4318', env)).toEqual({
    protocol: 'http/protobuf',
    url: 'https://c:4318/v1/traces',
    headers: { authorization: 'Bearer two', 'x-all': '1' },
    timeoutMs: 2000,
    compression: 'gzip',
    tls: { ca: '/ca.pem', certificate: '/client.pem', key: '/client.key' },
    sampling: { ratio: 0.25, followsParent: false },
    batch: { maxQueueSize: 20, maxExportBatchSize: 10, scheduledDelayMs: 100, exportTimeoutMs: 200 },
    resource: { 'service.name': 'edge-proxy', 'deployment.environment.name': 'test,stage' },
  })
})

test.each([
  ['always_on', { ratio: 1, followsParent: false }],
  ['parentbased_always_off', { ratio: 0, followsParent: true }],
  ['parentbased_traceidratio', { ratio: 1, followsParent: true }],
])('OTEL_TRACES_SAMPLER=%s is %j', (OTEL_TRACES_SAMPLER, sampling) => {
  expect(settings('http://c:4318', { OTEL_TRACES_SAMPLER }).sampling).toEqual(sampling)
})

describe('a mistake is one sentence that names what to change', () => {
  test.each([
    ['localhost:4317', '--otlp-endpoint=localhost:4317 is not the URL of a collector: write it like'],
    ['ftp://c', '--otlp-endpoint=ftp://c is not the URL of a collector'],
    ['http://', '--otlp-endpoint=http:// is not the URL of a collector'],
    ['grpc://c:4317/path', '--otlp-endpoint=grpc://c:4317/path has a path, which gRPC does not use: remove it'],
    [
      'http://me:secret@c:4318',
      '--otlp-endpoint=… has a password in it: put it into OTEL_EXPORTER_OTLP_HEADERS instead',
    ],
  ])('--otlp-endpoint=%s', (flag, sentence) => {
    expect(problem(flag)).toContain(sentence)
  })

  test.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector', 'is not the URL of a collector'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json', 'is not supported: use http/protobuf or grpc'],
    ['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', '5s', 'is not a whole number between 1 and 2147483647'],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd', 'is not supported: use gzip or none'],
    ['OTEL_EXPORTER_OTLP_CLIENT_KEY', '/k', 'needs OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE too'],
    ['OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE', '/c', 'needs OTEL_EXPORTER_OTLP_CLIENT_KEY too'],
    ['OTEL_TRACES_EXPORTER', 'zipkin', 'is not supported: use otlp or none'],
    ['OTEL_TRACES_EXPORTER', 'otlp,console', 'is not supported: use otlp or none'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote', 'is not supported: use always_on'],
    ['OTEL_SDK_DISABLED', 'yes', 'is neither true nor false'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '0', 'is not a whole number between 1'],
    ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '4096', 'is more than OTEL_BSP_MAX_QUEUE_SIZE=2048'],
    ['OTEL_BSP_SCHEDULE_DELAY', '-1', 'is not a whole number between 0'],
  ])('%s=%s', (name, value, sentence) => {
    expect(problem('', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', [name]: value })).toContain(
      `${name}=${value} ${sentence}`,
    )
  })

  test('OTEL_TRACES_SAMPLER_ARG', () => {
    const env = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '25%' }
    expect(problem('http://c:4318', env)).toBe('OTEL_TRACES_SAMPLER_ARG=25% is not a number between 0 and 1')
  })

  test('a scheme that contradicts the protocol', () => {
    expect(problem('grpc://c:4317', { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' })).toBe(
      '--otlp-endpoint=grpc://c:4317 contradicts OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf: remove one of the two',
    )
  })

  test('a header is not repeated: it may be a secret', () => {
    for (const value of ['good=1,hush', 'good=1,=hush', 'good=1,token=hush%'])
      expect(problem('http://c:4318', { OTEL_EXPORTER_OTLP_HEADERS: value })).toBe(
        'OTEL_EXPORTER_OTLP_HEADERS is not a list like key=value,key2=value2: look at item 2, and write % as %25',
      )
  })
})
