/** HNS as the libraries of Windows reach it. Every handle that is opened is closed, whatever happens in between. */
import { OneAtATime } from '../../core/sync/one-at-a-time.ts'
import { renderQuery } from './documents.ts'
import type { HcnDriver, ObjectKind } from './driver.ts'
import { guidBytes, noGuid } from './guid.ts'
import { HcnError } from './hcn.ts'
import type { Handle, NativeFunctions } from './native-functions.ts'
import type { NativeLibraries } from './native-libraries.ts'

/** Rejects where a library, a function, or koffi's own binary is missing. */
export async function openNativeDriver(libraries: NativeLibraries): Promise<HcnDriver> {
  const { bindFunctions } = await import('./native-functions.ts').catch((cause: unknown) => {
    throw new HcnError('missing', `functions of Windows cannot be called on ${process.platform}-${process.arch}`, {
      cause,
    })
  })
  return nativeDriver(bindFunctions(libraries))
}

const words: Readonly<Record<ObjectKind, string>> = {
  Network: 'network',
  Endpoint: 'endpoint',
  LoadBalancer: 'load balancer',
}

function nativeDriver(native: NativeFunctions): HcnDriver {
  const queue = new OneAtATime()

  const using = async <T>(kind: ObjectKind, handle: Handle, work: (handle: Handle) => Promise<T>): Promise<T> => {
    try {
      return await work(handle)
    } finally {
      await native.close(kind, handle)
    }
  }
  const opened = async <T>(kind: ObjectKind, id: string, work: (handle: Handle) => Promise<T>): Promise<T> =>
    using(kind, await native.open(kind, guidBytes(id, words[kind])), work)
  const propertiesOf = (kind: ObjectKind) => (handle: Handle) => native.properties(kind, handle, renderQuery())

  return {
    hnsCall: (method, path, body) => queue.run(() => native.hnsCall(method, path, body)),
    enumerate: (kind, query) => queue.run(() => native.enumerate(kind, query)),
    query: (kind, id, query) => queue.run(() => opened(kind, id, (handle) => native.properties(kind, handle, query))),
    create: (kind, settings, networkId = '') =>
      queue.run(async () => {
        if (kind === 'LoadBalancer')
          return using(kind, await native.createLoadBalancer(noGuid, settings), propertiesOf(kind))
        return opened('Network', networkId, async (network) =>
          using(kind, await native.createEndpoint(network, noGuid, settings), propertiesOf(kind)),
        )
      }),
    modifyLoadBalancer: (id, settings) =>
      queue.run(() =>
        opened('LoadBalancer', id, async (handle) => {
          await native.modifyLoadBalancer(handle, settings)
          return native.properties('LoadBalancer', handle, renderQuery())
        }),
      ),
    remove: (kind, id) => queue.run(async () => native.remove(kind, guidBytes(id, words[kind]))),
    /** Libraries of the system stay loaded: a call that hangs may still be in them. */
    async [Symbol.asyncDispose]() {},
  }
}
