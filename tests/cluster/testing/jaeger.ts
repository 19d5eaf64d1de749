/** A real Jaeger, in a network namespace or on loopback, asked through its query API. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Namespace } from '../../packet/testing/namespace.ts'
import { NodeProcess } from '../../packet/testing/node-process.ts'
import { buildProgram } from './programs.ts'

export const collectorPorts = { http: 4318, grpc: 4317 } as const

export interface JaegerSpan {
  readonly traceID: string
  readonly spanID: string
  readonly operationName: string
  readonly references: readonly {
    readonly refType: 'CHILD_OF' | 'FOLLOWS_FROM'
    readonly traceID: string
    readonly spanID: string
  }[]
  /** Microseconds. */
  readonly startTime: number
  readonly duration: number
  readonly tags: readonly { readonly key: string; readonly value: unknown }[]
  readonly processID: string
}

export interface JaegerTrace {
  readonly traceID: string
  readonly spans: readonly JaegerSpan[]
  readonly processes: Readonly<
    Record<string, { readonly serviceName: string; readonly tags: readonly { key: string; value: unknown }[] }>
  >
}

/** Where it runs: `run` and `start` as in a namespace, and the ports that it may have there. */
export interface JaegerPlace {
  readonly ip: string
  readonly ports: Readonly<Record<JaegerPort, number>>
  run(program: string, args: readonly string[]): string
  start(program: string, args: readonly string[]): Pick<NodeProcess, 'isRunning' | 'output'> & AsyncDisposable
}

type JaegerPort = (typeof jaegerPorts)[number]

export const jaegerPorts = ['query', 'queryGrpc', 'otlpHttp', 'otlpGrpc', 'http', 'grpc', 'admin'] as const

const listenerFlags: Readonly<Record<JaegerPort, string>> = {
  query: 'query.http-server',
  queryGrpc: 'query.grpc-server',
  otlpHttp: 'collector.otlp.http',
  otlpGrpc: 'collector.otlp.grpc',
  http: 'collector.http-server',
  grpc: 'collector.grpc-server',
  admin: 'admin.http',
}

/** In a namespace every port is free. */
export function inNamespace(namespace: Namespace): JaegerPlace {
  return {
    ip: '0.0.0.0',
    ports: {
      query: 16686,
      queryGrpc: 16685,
      otlpHttp: collectorPorts.http,
      otlpGrpc: collectorPorts.grpc,
      http: 14268,
      grpc: 14250,
      admin: 14269,
    },
    run: (program, args) => namespace.run(program, args),
    start: (program, args) => new NodeProcess(namespace, program, args),
  }
}

export class Jaeger implements AsyncDisposable {
  readonly #place: JaegerPlace
  readonly #process: ReturnType<JaegerPlace['start']>

  private constructor(place: JaegerPlace, process: ReturnType<JaegerPlace['start']>) {
    this.#place = place
    this.#process = process
  }

  static async start(place: JaegerPlace): Promise<Jaeger> {
    const flags = jaegerPorts.map((port) => `--${listenerFlags[port]}.host-port=${place.ip}:${place.ports[port]}`)
    const process = place.start(await buildProgram('jaeger'), [...flags, '--log-level=error'])
    const jaeger = new Jaeger(place, process)
    for (let tries = 0; ; tries++) {
      try {
        jaeger.#get('/api/services')
        return jaeger
      } catch (error) {
        if (!process.isRunning || tries > 300)
          throw new Error(`Jaeger does not start: ${process.output}`, { cause: error })
        await sleep(100)
      }
    }
  }

  traces(service: string): readonly JaegerTrace[] {
    const { data } = JSON.parse(this.#get(`/api/traces?service=${service}&limit=5000&lookback=1h`)) as {
      readonly data: readonly JaegerTrace[]
    }
    return data
  }

  #get(path: string): string {
    return this.#place.run('curl', ['-sS', '--fail', `http://127.0.0.1:${this.#place.ports.query}${path}`])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]()
  }
}

export function tag({ tags }: Pick<JaegerSpan, 'tags'>, key: string): unknown {
  return tags.find((tag) => tag.key === key)?.value
}

/** The span that this one is part of. */
export function parentOf({ references }: JaegerSpan): string | undefined {
  return references.find(({ refType }) => refType === 'CHILD_OF')?.spanID
}

/** Traces of what caused it. */
export function linksOf({ references }: JaegerSpan): readonly string[] {
  return references.filter(({ refType }) => refType === 'FOLLOWS_FROM').map(({ traceID }) => traceID)
}

/** Each name below a span once, in order of first start, with what is below it: the shape of the tree. */
export function shapeBelow(trace: JaegerTrace, roots: readonly JaegerSpan[], indent = ''): readonly string[] {
  const names = [...new Set(roots.toSorted((a, b) => a.startTime - b.startTime).map((span) => span.operationName))]
  return names.flatMap((name) => {
    const ids = new Set(roots.filter((span) => span.operationName === name).map((span) => span.spanID))
    const children = trace.spans.filter((span) => ids.has(parentOf(span) ?? ''))
    return [`${indent}${name}`, ...shapeBelow(trace, children, `${indent}  `)]
  })
}
