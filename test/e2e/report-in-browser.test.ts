import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { verifyRunFolder } from '#local/verify-run-folder';
import { tier } from '#test/runner/tier';
import { openFile, startChromium } from './browser.ts';
import { endAllCli, examhall } from './cli-process.ts';
import { testGround, type TestGround } from './experiment-files.ts';
import { writeReportGround } from './report-ground.ts';
import { later, sweep, type SweptExperiment } from './swept-experiment.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

const made = later<TestGround>();
const swept = later<SweptExperiment>();
const chrome = later<Browser>();
const urlOf = (file: string): string => pathToFileURL(file).href;
const report = (): string => urlOf(path.join(swept.get().treeRoot, 'report.html'));

/** What a script makes of each picture of the page. TypeScript here knows no DOM. */
async function pictures(page: Page, each: string): Promise<readonly string[]> {
  return await page.evaluate<string[]>(`[...document.images].map((picture) => String(${each}))`);
}

/** Alternative texts of pictures that show nothing. */
async function brokenPictures(page: Page): Promise<readonly string[]> {
  const seen = await pictures(page, "picture.complete && picture.naturalWidth > 0 ? '' : picture.alt || 'broken'");
  return seen.filter((alt) => alt !== '');
}

/** Scrolls each picture into view, so that lazy ones are there. */
async function showPictures(page: Page): Promise<void> {
  for (const picture of await page.locator('img').all()) await picture.scrollIntoViewIfNeeded();
}

tier('desktop')('the report in Chromium', () => {
  beforeAll(async () => {
    const ground = testGround();
    made.set(ground);
    writeReportGround(ground);
    swept.set(
      await sweep(ground, {
        name: 'shown',
        agents: ['painter', 'fraud', 'nop'],
        tasks: [
          ['e2e/word', [0, 1]],
          ['e2e/broken', [0]],
        ],
      }),
    );
    chrome.set(await startChromium());
  });

  afterAll(async () => {
    await endAllCli();
    made.get().remove();
    await chrome.get().close();
  });

  it('opens without an error, a request, or a script of what it shows', async () => {
    const { page, context, said, asked } = await openFile(chrome.get(), report());
    await showPictures(page);
    expect(said).toEqual([]);
    expect(asked).toEqual([]);
    expect(await page.title()).toBe('shown');
    expect(await page.locator('script, iframe, object, embed, form, base, link').count()).toBe(0);
    expect(await page.content()).toContain('&lt;img src=');
    await context.close();
  });

  it('adds up: every planned unit is in one class, one row and one cell', async () => {
    const { page, context } = await openFile(chrome.get(), report());
    const sum = (await page.locator('#ledger-sum').innerText()).match(/\d+/gu)?.map(Number) ?? [];
    expect(sum.at(-1)).toBe(9);
    expect(sum.slice(0, -1).reduce((all, each) => all + each, 0)).toBe(9);
    expect(await page.locator('#units-heading ~ .scroll tbody tr').count()).toBe(9);
    const cells = await page.locator('.matrix tbody td:nth-child(3n+1)').allInnerTexts();
    expect(cells.reduce((all, cell) => all + Number.parseInt(cell, 10), 0)).toBe(9);
    await expect(page.locator('.matrix').isVisible()).resolves.toBe(true);
    await context.close();
  });

  it('shows a film strip of each unit with a screen, whose pictures decode', async () => {
    const { page, context } = await openFile(chrome.get(), report());
    await showPictures(page);
    const strips = page.locator('article');
    expect(await strips.count()).toBe(6);
    const painter = strips.filter({ hasText: '__painter__' }).first();
    expect(await painter.locator('img').count()).toBe(6);
    expect(await painter.innerText()).toMatch(/9 screenshots of steps.*5 GUI events/su);
    expect(await brokenPictures(page)).toEqual([]);
    const sizes = await pictures(page, '[picture.naturalWidth, picture.naturalHeight]');
    expect(new Set(sizes)).toEqual(new Set(['240,150']));
    for (const alt of await pictures(page, 'picture.alt')) expect(alt).toMatch(/^step \d+: /u);
    await context.close();
  });

  it('shows no picture that is a bomb, broken, or no picture at all', async () => {
    const { page, context } = await openFile(chrome.get(), report());
    const fraud = page.locator('article').filter({ hasText: '__fraud__' }).first();
    expect(await fraud.locator('img').count()).toBe(0);
    expect(await fraud.locator('.none').count()).toBe(2);
    expect(await fraud.innerText()).toMatch(/2 screenshots of steps/u);
    await context.close();
  });

  it('links only to files that are there, below its own folder', async () => {
    const { page, context } = await openFile(chrome.get(), report());
    const links = await page.evaluate<string[]>('[...document.links].map((link) => link.href)');
    expect(links.length).toBeGreaterThan(25);
    for (const link of links) {
      const file = fileURLToPath(link);
      expect(file.startsWith(`${swept.get().treeRoot}/`), link).toBe(true);
      expect(existsSync(file), link).toBe(true);
    }
    await context.close();
  });

  it('leads from a small picture to the whole one by keyboard', async () => {
    const { page, context } = await openFile(chrome.get(), report());
    await page.locator('.film a:has(img)').first().focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/screenshots\/0000\.png$/u);
    expect(await pictures(page, 'picture.naturalWidth')).toEqual(['640']);
    await context.close();
  });

  it('still shows its pictures when it is moved away alone, and without scripts', async () => {
    const alone = path.join(made.get().folder, 'alone', 'report.html');
    mkdirSync(path.dirname(alone));
    cpSync(fileURLToPath(report()), alone);
    const { page, context, asked } = await openFile(chrome.get(), urlOf(alone), { javaScriptEnabled: false });
    await showPictures(page);
    expect(await page.locator('img').count()).toBe(18);
    expect(await brokenPictures(page)).toEqual([]);
    expect(asked).toEqual([]);
    await context.close();
  });

  it.each([
    ['light', 1280],
    ['dark', 360],
  ] as const)('is accessible and fits its window, %s, %i pixels wide', async (colorScheme, width) => {
    const options = { colorScheme, viewport: { width, height: 800 } };
    const { page, context } = await openFile(chrome.get(), report(), options);
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`)).toEqual([]);
    const root = 'document.documentElement';
    expect(await page.evaluate<number>(`${root}.scrollWidth - ${root}.clientWidth`)).toBe(0);
    await context.close();
  });

  it('tells what examhall show tells of the screen', async () => {
    const { unitId } = swept.get().unit('painter', 'e2e/word');
    const end = await examhall(['show', unitId, '--root', path.join(made.get().folder, 'out')]);
    expect(end.stdout).toContain(
      'screen:  9 screenshots of steps, none after the agent had ended; 5 GUI events (reported by the agent)',
    );
  });

  it('belongs to records that hash every picture', async () => {
    const folder = swept.get().folder('painter', 'e2e/word');
    expect(await verifyRunFolder(folder)).toEqual([]);
    const picture = path.join(folder, 'screenshots/0008.png');
    const bytes = readFileSync(picture);
    bytes[100] = (bytes[100] ?? 0) ^ 1;
    writeFileSync(picture, bytes);
    expect(await verifyRunFolder(folder)).toMatchObject([{ path: 'screenshots/0008.png', kind: 'changed' }]);
    expect(existsSync(path.join(folder, 'gui_events.jsonl'))).toBe(true);
  });
});
