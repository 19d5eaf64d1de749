import type { Backend } from '../../core/backend.ts'

/** The backend, which closes or gives back the others, in this order, when it has ended. */
export function endingWith(backend: Backend, ...others: readonly AsyncDisposable[]): Backend {
  return {
    name: backend.name,
    sync: (view, change, signal, span) => backend.sync(view, change, signal, span),
    ...(backend.watch && { watch: backend.watch.bind(backend) }),
    ...(backend.traffic && { traffic: backend.traffic.bind(backend) }),
    ...(backend.trafficEveryMs !== undefined && { trafficEveryMs: backend.trafficEveryMs }),
    ...(backend.pieces && { pieces: backend.pieces.bind(backend) }),
    ...(backend.compare && { compare: backend.compare.bind(backend) }),
    ...(backend.inspect && { inspect: backend.inspect.bind(backend) }),
    ...(backend.rendered && { rendered: backend.rendered.bind(backend) }),
    async [Symbol.asyncDispose]() {
      for (const part of [backend, ...others]) await part[Symbol.asyncDispose]()
    },
  }
}
