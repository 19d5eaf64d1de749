/** The demo in a browser: every button does what it says, and one sees it. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { whoTakesTurns } from '../e2e/testing/clients.ts'
import { deadlineMs } from '../e2e/testing/deadline.ts'
import { DemoProcess } from '../e2e/testing/demo-process.ts'
import { seriousViolations } from './testing/axe.ts'
import { launchChromium, unlessChromium, whyNoChromium } from './testing/chromium.ts'
import { everyPath, isAtRest } from './testing/every-page.ts'
import { WatchedPage } from './testing/watched-page.ts'

/** For what the proxy and the page see each in its own time. */
const patience = { timeout: deadlineMs }

describe.skipIf(whyNoChromium !== undefined)(`the demo${unlessChromium}`, () => {
  let browser: Browser
  let folder: TemporaryFolder
  let demo: DemoProcess
  let url: string

  beforeAll(async () => {
    folder = await TemporaryFolder.make()
    ;[browser, demo] = await Promise.all([launchChromium(), DemoProcess.start(folder)])
    url = /Open (http:\S+?)\/? in a browser/.exec(demo.process.stdout)?.[1] ?? ''
  })

  afterAll(async () => {
    await browser?.close()
    await demo?.[Symbol.asyncDispose]()
    await folder?.[Symbol.asyncDispose]()
  })

  test('every button does what it says, at once, and names the line for kubectl', async () => {
    await using watched = await WatchedPage.open(browser, url)
    const { page } = watched
    const web = page.locator('section.demo-service').first()
    const press = (name: string) => page.getByRole('button', { name }).first().click()
    const replica = (name: string, state: string) =>
      web.locator(`li[data-state="${state}"]`, { hasText: name }).waitFor()
    const answering = () => whoTakesTurns(demo.service('shop/web:http').url, 12)

    await replica('web-2', 'running')
    await press('Stop web-2')
    await replica('web-2', 'stopped')
    await web.locator('code', { hasText: 'kubectl' }).waitFor()
    await expect.poll(answering, patience).toEqual(['web-1', 'web-3'])
    await press('Start web-2')
    await replica('web-2', 'running')
    await expect.poll(answering, patience).toEqual(['web-1', 'web-2', 'web-3'])

    await press('Drain web-3')
    await replica('web-3', 'draining')
    await expect.poll(answering, patience).toEqual(['web-1', 'web-2'])

    await press('Add a replica (shop/web)')
    await replica('web-4', 'running')
    await expect.poll(answering, patience).toContain('web-4')
    await press('Remove a replica (shop/web)')
    await web.locator('li[data-state]', { hasText: 'web-4' }).waitFor({ state: 'detached' })
    await expect.poll(answering, patience).not.toContain('web-4')

    await press('Turn affinity on (shop/web)')
    await page.getByRole('button', { name: 'Turn affinity off (shop/web)' }).waitFor()
    await expect.poll(async () => (await answering()).length, patience).toBe(1)
    await press('Turn affinity off (shop/web)')
    await page.getByRole('button', { name: 'Turn affinity on (shop/web)' }).waitFor()

    const before = await answering()
    await press('Kill the API server')
    await page.getByText('It is gone.').waitFor()
    expect(await answering()).toEqual(before)
    await press('Bring the API server back')
    await page.getByText('It runs.').waitFor()
    expect(await web.locator('.demo-story li').count()).toBeGreaterThan(2)
    expect(watched.problems).toEqual([])
  })

  test('dots move, unless the reader wants none of that', async () => {
    const moving = async (reducedMotion: 'reduce' | 'no-preference') => {
      await using watched = await WatchedPage.open(browser, url, { reducedMotion })
      await isAtRest(watched.page)
      // Before there are rates, nothing moves anyway.
      await watched.page.locator('.picture-label').filter({ hasText: '/s' }).first().waitFor()
      // Without transitions: a picture that changes has some that end at once.
      return watched.page.evaluate(
        () =>
          document.getAnimations().filter((one) => one instanceof CSSAnimation && one.playState === 'running').length,
      )
    }
    expect(await moving('no-preference')).toBeGreaterThan(0)
    expect(await moving('reduce')).toBe(0)
  })

  test.each([1280, 360])('its pages keep nobody out and load without errors, %i pixels wide', async (width) => {
    const found: string[] = []
    const viewport = { width, height: 800 }
    for (const colorScheme of ['light', 'dark'] as const) {
      const options = { viewport, colorScheme, bypassCSP: true, reducedMotion: 'reduce' as const }
      await using watched = await WatchedPage.open(browser, url, options)
      const { page } = watched
      await isAtRest(page)
      for (const path of await everyPath(page, ['/services/shop/web'])) {
        await page.goto(url + path)
        await isAtRest(page)
        found.push(...(await seriousViolations(page)).map((violation) => `${colorScheme} ${path}: ${violation}`))
        const tooWide = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        )
        if (tooWide > 0) found.push(`${path}: ${tooWide} pixels too wide`)
      }
      found.push(...watched.problems)
    }
    expect(found).toEqual([])
  })
})
