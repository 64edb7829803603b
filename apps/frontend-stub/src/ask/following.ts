import { effect, untracked } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import { route } from "../state/route";
import type { Conversation } from "./conversation";

/** So near to its end, in CSS pixels, the reader is at the end of the page. */
const NEAR = 60;

/** While an answer grows, keep its end in sight of a reader who is there; one who reads further up is left in peace. */
export function useFollowing(conversation: Conversation, grows: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    let following = true;
    const page = document.documentElement;
    const atEnd = () => page.scrollHeight - scrollY - innerHeight < NEAR;
    const onScroll = () => {
      if (route.peek().view === "ask") following = atEnd();
    };
    const follow = () => {
      const some = conversation.turns.peek().length > 0 && route.peek().view === "ask";
      if (some && following) scrollTo({ top: page.scrollHeight });
    };
    const observer = new ResizeObserver(() => {
      if (conversation.answering.peek()) follow();
    });
    if (grows.current) observer.observe(grows.current);
    addEventListener("scroll", onScroll, { passive: true });
    let frame = 0;
    const stop = effect(() => {
      if (conversation.answering.value)
        // who asks wants to see; what is asked again stands further up, and in sight
        following = untracked(() => conversation.last.value?.running === true);
      else frame = requestAnimationFrame(() => follow()); // and how it ended, once that is shown
    });
    return () => {
      stop();
      cancelAnimationFrame(frame);
      observer.disconnect();
      removeEventListener("scroll", onScroll);
    };
  }, [conversation, grows]);
}
