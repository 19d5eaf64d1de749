/** Statuses, headers and bodies were recorded from the handlers of Kubernetes 1.36 for the same requests. */
import { networkInterfaces } from 'node:os'
import { expect, test, vi } from 'vitest'
import { MetricRegistry } from '../metrics/prometheus.ts'
import { reply } from './reply.ts'
import type { HttpHandler } from './reply.ts'
import { serveMetrics } from './testing/serve-metrics.ts'

const plain = { 'content-type': 'text/plain; charset=utf-8' }
/** The profiler takes its time to start on a busy machine. */
const patiently = { timeout: 20_000 }
const plainNoSniff = { ...plain, 'x-content-type-options': 'nosniff' }

test('/metrics shows the registry and when the process started', async () => {
  const registry = new MetricRegistry()
  registry.counter({ name: 'x_total', labels: [], help: 'X.' }).increment({}, 3)
  const { get } = await serveMetrics({ registry })
  expect(await get('/metrics')).toEqual({
    status: 200,
    headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'process-start-time-unix': '1794752395' },
    body: '# HELP x_total X.\n# TYPE x_total counter\nx_total 3\n',
  })
})

test('/metrics speaks OpenMetrics with those who ask for it by name, and with nobody else', async () => {
  const registry = new MetricRegistry()
  registry.counter({ name: 'x_total', labels: [], help: 'X.' }).increment({}, 3)
  const { get } = await serveMetrics({ registry })
  const typeFor = async (accept: string) => (await get('/metrics', { headers: { accept } })).headers['content-type']
  const [open, text] = ['application/openmetrics-text; version=1.0.0; charset=utf-8', registry.contentType]
  const prometheus =
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2'
  expect(await typeFor(prometheus)).toBe(open)
  expect(await typeFor('application/openmetrics-text')).toBe(open)
  for (const accept of ['*/*', 'text/plain', 'text/*, application/openmetrics-text;q=0.5', 'application/json'])
    expect(await typeFor(accept)).toBe(text)
  expect((await get('/metrics', { headers: { accept: prometheus } })).body).toBe(
    '# HELP x X.\n# TYPE x counter\nx_total 3\n# EOF\n',
  )
})

test('/healthz says ok, verbosely if asked, and whatever is excluded', async () => {
  const { get } = await serveMetrics({})
  expect(await get('/healthz')).toEqual({ status: 200, headers: plainNoSniff, body: 'ok' })
  expect(await get('/healthz', { method: 'POST' })).toMatchObject({ status: 200, body: 'ok' })
  expect((await get('/healthz?exclude=ping')).body).toBe('ok')
  expect((await get('/healthz?verbose')).body).toBe('[+]ping ok\nhealthz check passed\n')
  expect((await get('/healthz?exclude=ping&verbose')).body).toBe('[+]ping excluded: ok\nhealthz check passed\n')
  expect((await get('/healthz?exclude=foo&verbose')).body).toBe(
    '[+]ping ok\nwarn: some health checks cannot be excluded: no matches for "foo"\nhealthz check passed\n',
  )
  expect(await get('/healthz/ping?verbose')).toEqual({ status: 200, headers: plain, body: 'ok' })
})

test('/metrics/slis counts those checks until it is reset', async () => {
  const { get } = await serveMetrics({})
  for (const path of ['/healthz', '/healthz?verbose', '/healthz?exclude=ping', '/healthz/ping']) await get(path)
  const started = `# HELP process_start_time_seconds [ALPHA] When the process started, in Unix seconds.
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1794752395.4
`
  expect(await get('/metrics/slis')).toMatchObject({
    headers: { 'process-start-time-unix': '1794752395' },
    body: `# HELP kubernetes_healthcheck [STABLE] The last result of a health check: 1 is good.
# TYPE kubernetes_healthcheck gauge
kubernetes_healthcheck{name="ping",type="healthz"} 1
# HELP kubernetes_healthchecks_total [STABLE] How often a health check had which result.
# TYPE kubernetes_healthchecks_total counter
kubernetes_healthchecks_total{name="ping",type="healthz",status="success"} 2
${started}`,
  })
  expect(await get('/metrics/slis', { method: 'DELETE' })).toEqual({
    status: 200,
    headers: plain,
    body: 'metrics reset\n',
  })
  expect((await get('/metrics/slis')).body).toBe(started)
})

test('/proxyMode is the mode and nothing else', async () => {
  const { get } = await serveMetrics({ mode: 'nftables' })
  expect(await get('/proxyMode')).toEqual({ status: 200, headers: plainNoSniff, body: 'nftables' })
})

test('/configz is the configuration of the moment, by its group', async () => {
  const config = { kind: 'KubeProxyConfiguration', apiVersion: 'kubeproxy.config.k8s.io/v1alpha1', mode: '' }
  const { get } = await serveMetrics({ configz: () => ({ 'kubeproxy.config.k8s.io': config }) })
  expect(await get('/configz')).toEqual({
    status: 200,
    headers: { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' },
    body: '{"kubeproxy.config.k8s.io":{"kind":"KubeProxyConfiguration","apiVersion":"kubeproxy.config.k8s.io/v1alpha1","mode":""}}',
  })
})

test('without their gates and without profiling, /flagz, /statusz and /debug are not found', async () => {
  const { get } = await serveMetrics({})
  for (const path of ['/flagz', '/statusz', '/debug/pprof', '/debug/pprof/', '/debug/pprof/heap', '/debug/flags/v'])
    expect(await get(path)).toMatchObject({ status: 404 })
})

for (const path of ['/', '/livez', '/healthz/', '/metrics/', '//metrics', '/proxymode', '/debug/flags/x']) {
  test(`${path} is not found`, async () => {
    const { get } = await serveMetrics({ profiling: { setVerbosity: () => {} } })
    expect(await get(path)).toEqual({ status: 404, headers: plainNoSniff, body: '404 page not found\n' })
  })
}

const debug: HttpHandler = (_request, response) => reply(response, 200, {}, 'explained')
/** Whoever connects there has it as source, like somebody on another machine. */
const ownAddress = Object.values(networkInterfaces())
  .flat()
  .find((address) => address?.family === 'IPv4' && !address.internal)?.address

test('debug pages are for whoever asks this machine by its own name', async () => {
  const { get } = await serveMetrics({ debug })
  expect(await get('/debug/view')).toMatchObject({ status: 200, body: 'explained' })
  for (const host of ['192.0.2.7', 'node.example', 'localhost.example'])
    expect(await get('/debug/view', { headers: { Host: host } })).toMatchObject({ status: 403 })
})

test.skipIf(ownAddress === undefined)('debug pages are for clients on loopback (needs another address)', async () => {
  const { get, address } = await serveMetrics({ debug }, '0.0.0.0')
  const host = ownAddress ?? ''
  expect(await get('/debug/view', { host: '127.0.0.1' })).toMatchObject({ status: 200 })
  expect(await get('/debug/view', { host })).toMatchObject({
    status: 403,
    body: `forbidden: the pages below /debug/ are for this machine only, ask on the node itself, at http://127.0.0.1:${address.port}/debug/\n`,
  })
  expect(await get('/proxyMode', { host })).toMatchObject({ status: 200 })
})

test('PUT /debug/flags/v changes the verbosity, and only a number does', async () => {
  const setVerbosity = vi.fn<(verbosity: number) => void>()
  const { get } = await serveMetrics({ profiling: { setVerbosity } })
  const headers = { 'content-type': 'text/plain', 'x-content-type-options': 'nosniff' }
  expect(await get('/debug/flags/v', { method: 'PUT', body: '4' })).toEqual({
    status: 200,
    headers,
    body: 'successfully set klog.logging.verbosity to 4\n',
  })
  for (const body of ['abc', '-3', '', '1.5', '2147483648', '9'.repeat(5000)])
    expect(await get('/debug/flags/v', { method: 'PUT', body })).toMatchObject({ status: 400, headers })
  for (const method of ['GET', 'POST'])
    expect(await get('/debug/flags/v', { method })).toEqual({ status: 406, headers, body: 'unsupported http method\n' })
  expect(setVerbosity.mock.calls).toEqual([[4]])
})

test('/debug/flags lists what can be changed', async () => {
  const { get } = await serveMetrics({ profiling: { setVerbosity: () => {} } })
  for (const path of ['/debug/flags', '/debug/flags/'])
    expect(await get(path)).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
})

test('/debug/pprof leads to the index of profiles', async () => {
  const { get } = await serveMetrics({ profiling: { setVerbosity: () => {} } })
  expect(await get('/debug/pprof')).toEqual({
    status: 302,
    headers: { 'content-type': 'text/html; charset=utf-8', location: '/debug/pprof/' },
    body: '<a href="/debug/pprof/">Found</a>.\n\n',
  })
  expect(await get('/debug/pprof/')).toMatchObject({ status: 200 })
  expect(await get('/debug/pprof/goroutine')).toEqual({ status: 404, headers: plainNoSniff, body: 'Unknown profile\n' })
  for (const seconds of ['0', '-1', 'x', '1e9'])
    expect(await get(`/debug/pprof/profile?seconds=${seconds}`)).toMatchObject({ status: 400 })
})

test('/debug/pprof/profile is a CPU profile that lasts as long as asked', async () => {
  const { get, clock } = await serveMetrics({ profiling: { setVerbosity: () => {} } })
  const answer = get('/debug/pprof/profile?seconds=2')
  await vi.waitUntil(() => clock.sleeping === 1, patiently)
  await clock.advance(1999)
  expect(clock.sleeping).toBe(1)
  await clock.advance(1)
  const { status, headers, body } = await answer
  expect(status).toBe(200)
  expect(headers['content-disposition']).toBe('attachment; filename="profile.cpuprofile"')
  expect(JSON.parse(body)).toMatchObject({
    nodes: expect.any(Array) as unknown[],
    samples: expect.any(Array) as unknown[],
  })
})

test('a CPU profile ends when its client goes away', async () => {
  const { clock, get } = await serveMetrics({ profiling: { setVerbosity: () => {} } })
  const stop = new AbortController()
  const answer = get('/debug/pprof/profile', { signal: stop.signal })
  await vi.waitUntil(() => clock.sleeping === 1, patiently)
  stop.abort()
  await expect(answer).rejects.toThrow('aborted')
  await vi.waitUntil(() => clock.sleeping === 0, patiently)
})

test('one CPU profile is taken at a time', async () => {
  const { get, clock } = await serveMetrics({ profiling: { setVerbosity: () => {} } })
  const first = get('/debug/pprof/profile?seconds=2')
  await vi.waitUntil(() => clock.sleeping === 1, patiently)
  expect(await get('/debug/pprof/profile')).toMatchObject({
    status: 500,
    body: 'Could not enable CPU profiling: cpu profiling already in use\n',
  })
  await clock.advance(2000)
  expect((await first).status).toBe(200)
  const next = get('/debug/pprof/profile?seconds=2')
  await vi.waitUntil(() => clock.sleeping === 1, patiently)
  await clock.advance(2000)
  expect((await next).status).toBe(200)
})

test('/debug/pprof/heap is a profile and not what is in memory', async () => {
  const { get } = await serveMetrics({ profiling: { setVerbosity: () => {} } })
  const { status, headers } = await get('/debug/pprof/heap')
  expect(status).toBe(200)
  expect(headers['content-disposition']).toBe('attachment; filename="heap.pb.gz"')
})
