/** The manifests of deploy/windows. */
import { fileURLToPath } from 'node:url'
import { manifestsIn } from './manifests.ts'
import type { Manifest } from './manifests.ts'

export const variants = ['kernelspace', 'userspace', 'one-process'] as const
export type Variant = (typeof variants)[number]

export function folderOf(variant: Variant): string {
  return fileURLToPath(new URL(`../../deploy/windows/manifests/${variant}`, import.meta.url))
}

export function manifestsOf(variant: Variant): readonly Manifest[] {
  return manifestsIn(folderOf(variant))
}
