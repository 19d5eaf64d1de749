import type { Clock } from '../../core/clock.ts'
import { zPageHandler } from './z-pages.ts'
import type { HttpHandler } from './reply.ts'

export interface StatuszOptions {
  readonly component: string
  readonly processStartMs: number
  readonly runtimeVersion: string
  /** `1.36`: the Kubernetes version whose behaviour this build has. */
  readonly binaryVersion: string
  readonly paths: readonly string[]
  readonly clock: Clock
}

export function statuszHandler(options: StatuszOptions): HttpHandler {
  const { component, processStartMs, runtimeVersion, binaryVersion, paths, clock } = options
  const uptimeSeconds = () => Math.floor((clock.now() - processStartMs) / 1000)
  const started = new Date(processStartMs)
  return zPageHandler({
    component,
    kind: 'Statusz',
    text: () =>
      [
        '',
        `Started: ${started.toUTCString()}`,
        `Up: ${renderUptime(uptimeSeconds())}`,
        `Node.js version: ${runtimeVersion}`,
        `Binary version: ${binaryVersion}`,
        `Emulation version: ${binaryVersion}`,
        `Paths: ${paths.join(' ')}`,
        '',
      ].join('\n'),
    fields: () => ({
      startTime: started.toISOString().replace(/\.\d+Z$/, 'Z'),
      uptimeSeconds: uptimeSeconds(),
      goVersion: runtimeVersion,
      binaryVersion,
      emulationVersion: binaryVersion,
      paths,
    }),
  })
}

function renderUptime(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, '0')
  return `${Math.floor(seconds / 3600)} hr ${two(Math.floor(seconds / 60) % 60)} min ${two(seconds % 60)} sec`
}
