/** Reads single fields of a kubeconfig. Errors say where in the file the problem is. */
import { dirname, isAbsolute, resolve } from 'node:path'
import { KubeError } from '../kube-error.ts'
import type { PemSource } from './kube-target.ts'

/** One mapping of the file with its name for messages, e.g. `user "admin"`. */
export class KubeconfigSection {
  readonly #file: string
  readonly #title: string
  readonly #fields: Readonly<Record<string, unknown>>

  constructor(file: string, title: string, fields: unknown) {
    this.#file = file
    this.#title = title
    if (fields !== undefined && fields !== null && (typeof fields !== 'object' || Array.isArray(fields)))
      throw this.problem('must be a mapping of fields')
    this.#fields = (fields ?? {}) as Readonly<Record<string, unknown>>
  }

  problem(text: string): KubeError {
    return new KubeError('bad-config', `kubeconfig "${this.#file}": ${this.#title} ${text}`)
  }

  has(field: string): boolean {
    return this.#fields[field] !== undefined && this.#fields[field] !== null
  }

  string(field: string): string | undefined {
    const value = this.#fields[field]
    if (value === undefined || value === null || value === '') return undefined
    if (typeof value !== 'string')
      throw this.problem(`has ${field}: ${JSON.stringify(value)}, which is not a string: put it in quotes`)
    return value
  }

  required(field: string, wayOut: string): string {
    const value = this.string(field)
    if (value === undefined) throw this.problem(`has no ${field}: ${wayOut}`)
    return value
  }

  boolean(field: string): boolean {
    const value = this.#fields[field] ?? false
    if (typeof value !== 'boolean') throw this.problem(`has ${field}: ${JSON.stringify(value)}: write true or false`)
    return value
  }

  strings(field: string): readonly string[] {
    return this.#list(field).map((value) => {
      if (typeof value !== 'string') throw this.problem(`has an entry in ${field} that is not a string`)
      return value
    })
  }

  section(field: string): KubeconfigSection {
    return new KubeconfigSection(this.#file, `${this.#title}, ${field},`, this.#fields[field])
  }

  sections(field: string): readonly KubeconfigSection[] {
    return this.#list(field).map(
      (entry, index) => new KubeconfigSection(this.#file, `${this.#title}, ${field}[${index}],`, entry),
    )
  }

  /** The entry called `name` in a list like `clusters: [{name, cluster: {…}}]`. */
  named(list: string, name: string, inner: string): KubeconfigSection {
    for (const entry of this.#list(list)) {
      const fields = entry as Readonly<Record<string, unknown>> | null
      if (typeof fields === 'object' && fields !== null && fields['name'] === name)
        return new KubeconfigSection(this.#file, `${inner} "${name}"`, fields[inner])
    }
    throw this.problem(`names the ${inner} "${name}", but there is none in ${list}`)
  }

  /** Relative paths start from the folder of the kubeconfig, not from the working directory. */
  path(field: string): string | undefined {
    const value = this.string(field)
    return value === undefined || isAbsolute(value) ? value : resolve(dirname(this.#file), value)
  }

  /** `<field>-data` (base64) wins over `<field>` (a path), as in kubectl. */
  pem(field: string): PemSource | undefined {
    const data = this.string(`${field}-data`)
    if (data === undefined) {
      const file = this.path(field)
      return file === undefined ? undefined : { file }
    }
    const pem = Buffer.from(data, 'base64').toString('utf8')
    if (!pem.includes('-----BEGIN ')) throw this.problem(`has ${field}-data that is not base64 of a PEM block`)
    return { pem }
  }

  #list(field: string): readonly unknown[] {
    const value = this.#fields[field] ?? []
    if (!Array.isArray(value)) throw this.problem(`has ${field} that is not a list`)
    return value
  }
}
