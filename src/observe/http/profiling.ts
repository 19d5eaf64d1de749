/**
 * `/debug/pprof/…`: the paths of Go's profiler with what V8 offers. The heap profile is in pprof's format, the CPU
 * profile in V8's own: open a `.cpuprofile` in the developer tools of Chrome or in VS Code.
 */
import type { ServerResponse } from 'node:http'
import { Session } from 'node:inspector/promises'
import type { Clock } from '../../core/clock.ts'
import { HeapSampling } from '../profiling/heap-profile.ts'
import { noSniff, plainText, reply, requestTarget } from './reply.ts'
import type { HttpHandler } from './reply.ts'

export const pprofPrefix = '/debug/pprof/'

const defaultSeconds = 30

/** Handles everything below the prefix. */
export function profilingHandler(clock: Clock): HttpHandler {
  const heap = new HeapSampling()
  let isTakingCpuProfile = false
  return async (request, response) => {
    const { path, query } = requestTarget(request)
    const headers = { 'Content-Type': plainText, ...noSniff }
    switch (path.slice(pprofPrefix.length)) {
      case '':
        return reply(response, 200, { 'Content-Type': 'text/html; charset=utf-8' }, indexPage)
      case 'heap':
        return sendHeapProfile(response, heap, clock)
      case 'profile': {
        const seconds = Number(query.get('seconds') ?? defaultSeconds)
        if (!(seconds > 0 && seconds <= 3600))
          return reply(response, 400, headers, 'seconds must be a number above 0 and up to 3600\n')
        if (isTakingCpuProfile)
          return reply(response, 500, headers, 'Could not enable CPU profiling: cpu profiling already in use\n')
        isTakingCpuProfile = true
        // The client is silent while it waits for the profile.
        request.socket.setTimeout(0)
        try {
          return await sendCpuProfile(response, seconds, clock)
        } finally {
          isTakingCpuProfile = false
        }
      }
      default:
        return reply(response, 404, headers, 'Unknown profile\n')
    }
  }
}

export const profilingRedirect: HttpHandler = (_request, response) => {
  const headers = { 'Content-Type': 'text/html; charset=utf-8', Location: pprofPrefix }
  reply(response, 302, headers, `<a href="${pprofPrefix}">Found</a>.\n\n`)
}

const indexPage = `<!doctype html>
<title>${pprofPrefix}</title>
<ul>
<li><a href="profile?seconds=30">profile</a>: CPU profile, a V8 .cpuprofile</li>
<li><a href="heap">heap</a>: what is in memory, by the functions that allocated it; for go tool pprof</li>
</ul>
`

async function sendCpuProfile(response: ServerResponse, seconds: number, clock: Clock): Promise<void> {
  const hangUp = new AbortController()
  response.once('close', () => hangUp.abort(new Error('the client went away')))
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.start')
    await clock.sleep(seconds * 1000, hangUp.signal)
    const { profile } = await session.post('Profiler.stop')
    reply(response, 200, attachment('profile.cpuprofile'), JSON.stringify(profile))
  } catch (error) {
    if (!hangUp.signal.aborted) throw error
  } finally {
    session.disconnect() // also ends a profile that is still being taken
  }
}

async function sendHeapProfile(response: ServerResponse, heap: HeapSampling, clock: Clock): Promise<void> {
  const bytes = await heap.profile(clock.now())
  response.writeHead(200, { ...attachment('heap.pb.gz'), 'Content-Length': bytes.length })
  response.end(bytes)
}

function attachment(name: string) {
  return {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': `attachment; filename="${name}"`,
    ...noSniff,
  }
}
