/**
 * The functions of computenetwork.dll and vmcompute.dll. HNS is another process, and a call may take seconds, so each runs
 * on another thread.
 *
 * Load it with `openNativeDriver`: it fails to load where koffi has no binary.
 */
import koffi from 'koffi'
import type { LibraryHandle } from 'koffi'
import type { ObjectKind } from './driver.ts'
import { HcnError } from './hcn.ts'
import { failureOf } from './hresult.ts'
import type { NativeLibraries } from './native-libraries.ts'

/** Opaque; whoever gets one closes it. */
export type Handle = bigint

export interface NativeFunctions {
  hnsCall(method: string, path: string, body: string): Promise<string>
  enumerate(kind: ObjectKind, query: string): Promise<string>
  open(kind: ObjectKind, id: Buffer): Promise<Handle>
  properties(kind: ObjectKind, handle: Handle, query: string): Promise<string>
  createEndpoint(network: Handle, id: Buffer, settings: string): Promise<Handle>
  createLoadBalancer(id: Buffer, settings: string): Promise<Handle>
  modifyLoadBalancer(handle: Handle, settings: string): Promise<void>
  remove(kind: 'Endpoint' | 'LoadBalancer', id: Buffer): Promise<void>
  close(kind: ObjectKind, handle: Handle): Promise<void>
}

export function bindFunctions(libraries: NativeLibraries): NativeFunctions {
  const hcn = load(libraries.computeNetwork)
  const free = bind(load(libraries.ole), libraries.ole, 'void __stdcall CoTaskMemFree(void *text)')
  const hnsCall = bind(
    load(libraries.vmCompute),
    libraries.vmCompute,
    `int32_t __stdcall HNSCall(${text}, ${text}, ${text}, ${out})`,
  )
  const bound = (declaration: string) => bind(hcn, libraries.computeNetwork, `int32_t __stdcall ${declaration}`)
  const byKind = (declarationOf: (kind: ObjectKind) => string): Readonly<Record<ObjectKind, NativeFunction>> => ({
    Network: bound(declarationOf('Network')),
    Endpoint: bound(declarationOf('Endpoint')),
    LoadBalancer: bound(declarationOf('LoadBalancer')),
  })

  const enumerate = byKind((kind) => `HcnEnumerate${kind}s(${text}, ${out}, ${out})`)
  const open = byKind((kind) => `HcnOpen${kind}(${guid}, ${out}, ${out})`)
  const properties = byKind((kind) => `HcnQuery${kind}Properties(${handle}, ${text}, ${out}, ${out})`)
  const close = byKind((kind) => `HcnClose${kind}(${handle})`)
  const createEndpoint = bound(`HcnCreateEndpoint(${handle}, ${guid}, ${text}, ${out}, ${out})`)
  const createLoadBalancer = bound(`HcnCreateLoadBalancer(${guid}, ${text}, ${out}, ${out})`)
  const remove = {
    Endpoint: bound(`HcnDeleteEndpoint(${guid}, ${out})`),
    LoadBalancer: bound(`HcnDeleteLoadBalancer(${guid}, ${out})`),
  }
  let modifyLoadBalancer: NativeFunction | undefined

  /** Reads a text that was lent, and gives it back. */
  const taken = (pointer: Pointer): string => {
    if (pointer === null) return ''
    try {
      return koffi.decode.string16(pointer)
    } finally {
      free(pointer)
    }
  }

  /** The last argument of every function is the error record. */
  const failureOfCall = async (it: NativeFunction, args: readonly unknown[]): Promise<HcnError | undefined> => {
    const record: [Pointer] = [null]
    const code = await onAnotherThread(it, [...args, record])
    return failureOf(it.info.name.replace(/^Hcn/, 'hcn'), code, taken(record[0]))
  }

  const call = async (it: NativeFunction, ...args: readonly unknown[]): Promise<void> => {
    const failure = await failureOfCall(it, args)
    if (failure !== undefined) throw failure
  }

  // What is lent beside a failure is lent nevertheless.

  const callForText = async (it: NativeFunction, ...args: readonly unknown[]): Promise<string> => {
    const lent: [Pointer] = [null]
    const failure = await failureOfCall(it, [...args, lent])
    const answer = taken(lent[0])
    if (failure !== undefined) throw failure
    return answer
  }

  const callForHandle = async (kind: ObjectKind, it: NativeFunction, ...args: readonly unknown[]): Promise<Handle> => {
    const lent: [Pointer] = [null]
    const failure = await failureOfCall(it, [...args, lent])
    if (failure !== undefined && lent[0] !== null) await onAnotherThread(close[kind], [lent[0]])
    if (failure !== undefined) throw failure
    if (lent[0] === null) throw new HcnError('unavailable', `${it.info.name} succeeded, and returned nothing`)
    return lent[0]
  }

  return {
    async hnsCall(method, path, body) {
      const response: [Pointer] = [null]
      const args = [utf16(method), utf16(path), utf16(body), response]
      const code = await onAnotherThread(hnsCall, args)
      const answer = taken(response[0])
      const failure = failureOf('HNSCall', code, '')
      if (failure !== undefined) throw failure
      return answer
    },
    enumerate: (kind, query) => callForText(enumerate[kind], utf16(query)),
    open: (kind, id) => callForHandle(kind, open[kind], id),
    properties: (kind, of, query) => callForText(properties[kind], of, utf16(query)),
    createEndpoint: (network, id, settings) => callForHandle('Endpoint', createEndpoint, network, id, utf16(settings)),
    createLoadBalancer: (id, settings) => callForHandle('LoadBalancer', createLoadBalancer, id, utf16(settings)),
    async modifyLoadBalancer(of, settings) {
      modifyLoadBalancer ??= bindModify(hcn)
      await call(modifyLoadBalancer, of, utf16(settings))
    },
    remove: (kind, id) => call(remove[kind], id),
    async close(kind, of) {
      await onAnotherThread(close[kind], [of])
    },
  }
}

type NativeFunction = ReturnType<LibraryHandle['func']>
/** Null, or an address. */
type Pointer = bigint | null

// Texts and GUIDs are passed as bytes, because those have no limit of size.
const [text, guid, handle, out] = ['const void *', 'const void *', 'void *', '_Inout_ void **']

function utf16(content: string): Buffer {
  return Buffer.from(`${content}\0`, 'utf16le')
}

async function onAnotherThread(it: NativeFunction, args: readonly unknown[]): Promise<number> {
  try {
    return await new Promise<number>((resolve, reject) => {
      it.async(...args, (error: Error | null, code: number) => (error === null ? resolve(code) : reject(error)))
    })
  } catch (cause) {
    throw new HcnError('unavailable', `${it.info.name} could not be called with ${args.length} arguments`, { cause })
  }
}

const wayOut =
  'kernelspace needs Windows Server 2019 or newer with the feature Containers: Install-WindowsFeature Containers, then restart'

function load(path: string): LibraryHandle {
  try {
    return koffi.load(path)
  } catch (cause) {
    throw new HcnError('missing', `${path} cannot be loaded; ${wayOut}`, { cause })
  }
}

function bind(library: LibraryHandle, path: string, declaration: string): NativeFunction {
  try {
    return library.func(declaration)
  } catch (cause) {
    const name = /(\w+)\(/.exec(declaration)?.[1] ?? declaration
    throw new HcnError('missing', `${path} has no function ${name}; ${wayOut}`, { cause })
  }
}

/** Not every Windows has it, and nothing depends on it: whoever cannot change a load balancer replaces it. */
function bindModify(library: LibraryHandle): NativeFunction {
  try {
    return library.func(`int32_t __stdcall HcnModifyLoadBalancer(${handle}, ${text}, ${out})`)
  } catch (cause) {
    throw new HcnError('not-implemented', 'this Windows has no function HcnModifyLoadBalancer', { cause })
  }
}
