<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>Actions</name>
    <message>
        <source>Let the model see them again</source>
        <translation>让模型重新看到它们</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Restart Thinkpane</source>
        <translation>重新启动 Thinkpane</translation>
    </message>
    <message>
        <source>Leave out the oldest exchanges</source>
        <translation>略去最早的问答</translation>
    </message>
    <message>
        <source>Use the processor</source>
        <translation>改用处理器</translation>
    </message>
    <message>
        <source>Halve the context length</source>
        <translation>上下文长度减半</translation>
    </message>
    <message>
        <source>Choose another model</source>
        <translation>换一个模型</translation>
    </message>
    <message>
        <source>Download again</source>
        <translation>重新下载</translation>
    </message>
    <message>
        <source>Copy details</source>
        <translation>复制详细信息</translation>
    </message>
    <message>
        <source>Bring them back</source>
        <translation>恢复它们</translation>
    </message>
    <message>
        <source>Reload model</source>
        <translation>重新加载模型</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Answer now</source>
        <translation>直接回答</translation>
    </message>
    <message>
        <source>Context length</source>
        <translation>上下文长度</translation>
    </message>
    <message>
        <source>Try a higher presence penalty</source>
        <translation>试试更高的存在惩罚</translation>
    </message>
    <message>
        <source>Set a longer context</source>
        <translation>设置更长的上下文</translation>
    </message>
    <message>
        <source>Put it back</source>
        <translation>放回</translation>
    </message>
    <message>
        <source>Show that version</source>
        <translation>显示该版本</translation>
    </message>
</context>
<context>
    <name>AnswerBody</name>
    <message>
        <source>Answer text</source>
        <translation>回答正文</translation>
    </message>
</context>
<context>
    <name>AnswerPane</name>
    <message>
        <source>Answer</source>
        <translation>回答</translation>
    </message>
    <message>
        <source>Show thinking</source>
        <translation>显示思考</translation>
    </message>
    <message>
        <source>Show the thinking beside the answer (Ctrl+T)</source>
        <translation>在回答旁显示思考（Ctrl+T）</translation>
    </message>
    <message>
        <source>Progress</source>
        <translation>进度</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Copy the answer as Markdown</source>
        <translation>以 Markdown 复制回答</translation>
    </message>
    <message>
        <source>Regenerate</source>
        <translation>重新生成</translation>
    </message>
    <message>
        <source>Ask for another answer; this one is kept (Ctrl+R)</source>
        <translation>再要一个回答，现有的会保留（Ctrl+R）</translation>
    </message>
    <message>
        <source>Go on where it was cut (Ctrl+Shift+R)</source>
        <translation>从中断处继续（Ctrl+Shift+R）</translation>
    </message>
    <message>
        <source>Change the question and ask again</source>
        <translation>修改问题后重新提问</translation>
    </message>
    <message>
        <source>More ways to copy</source>
        <translation>更多复制方式</translation>
    </message>
    <message>
        <source>Edit question</source>
        <translation>编辑问题</translation>
    </message>
    <message>
        <source>Edit answer</source>
        <translation>编辑回答</translation>
    </message>
    <message>
        <source>Change the answer, or let it go on from your words</source>
        <translation>修改回答，或让它从您的文字继续</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Use this seed again: with the same settings it repeats this answer</source>
        <translation>再次使用此种子：设置相同时会得到同样的回答</translation>
    </message>
    <message>
        <source>Earlier version</source>
        <translation>上一个版本</translation>
    </message>
    <message>
        <source>Later version</source>
        <translation>下一个版本</translation>
    </message>
    <message>
        <source>The answer failed for an unknown reason.</source>
        <translation>回答失败，原因不明。</translation>
    </message>
    <message>
        <source>without thinking</source>
        <translation>未思考</translation>
    </message>
    <message>
        <source>Seed {seed}</source>
        <translation>种子 {seed}</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
</context>
<context>
    <name>App</name>
    <message>
        <source>Choose a GGUF file, or config.json of a model folder</source>
        <translation>选择 GGUF 文件，或模型文件夹中的 config.json</translation>
    </message>
    <message>
        <source>Models (*.gguf config.json)</source>
        <translation>模型 (*.gguf config.json)</translation>
    </message>
    <message>
        <source>Something went wrong that Thinkpane did not expect. Your chats are kept; if it happens again, restart it and report the details.</source>
        <translation>出现了 Thinkpane 未预料到的问题。您的对话都已保留；如果再次出现，请重新启动并反馈详细信息。</translation>
    </message>
    <message>
        <source>Thinkpane was restarted {max_restarts} times and the GPU still does not answer. Your chats are kept; restart the computer, or use the processor.</source>
        <translation>Thinkpane 已重新启动 {max_restarts} 次，GPU 仍无响应。您的对话都已保留；请重启电脑，或改用处理器。</translation>
    </message>
</context>
<context>
    <name>Attach</name>
    <message>
        <source>“{name}” is taken out of the question.</source>
        <translation>已将“{name}”从问题中移出。</translation>
    </message>
    <message>
        <source>Not sent: it is longer than the model can see at once.</source>
        <translation>未发送：内容超过模型一次能看到的长度。</translation>
    </message>
    <message>
        <source>The tokens of the text are being counted. The question can be sent then.</source>
        <translation>正在统计文本的 token 数，统计完即可发送问题。</translation>
    </message>
    <message>
        <source>Pasted text</source>
        <translation>粘贴的文本</translation>
    </message>
    <message>
        <source>A question takes {most} files; {name} was not added.</source>
        <translation>一个问题最多附 {most} 个文件；未添加 {name}。</translation>
    </message>
    <message>
        <source>{name} was not added: the files are too long together.</source>
        <translation>未添加 {name}：这些文件合起来太长。</translation>
    </message>
    <message>
        <source>This is {needed} tokens, and the model can see {limit} at once. Take something out, or set a longer context.</source>
        <translation>共 {needed} 个 token，而模型一次只能看到 {limit} 个。请移出一部分，或设置更长的上下文。</translation>
    </message>
    <message>
        <source>This is {needed} tokens, and this model can see {limit} at once, not more. Take something out, or choose another model.</source>
        <translation>共 {needed} 个 token，而此模型一次最多只能看到 {limit} 个。请移出一部分，或选择其他模型。</translation>
    </message>
    <message>
        <source>With the chat so far this is {needed} tokens, and the model can see {limit} at once. You can leave out the oldest exchanges once it is sent.</source>
        <translation>连同此前的对话共 {needed} 个 token，而模型一次只能看到 {limit} 个。发送后可以略去最早的问答。</translation>
    </message>
    <message>
        <source>{name} has {found} KB; a text file may have {limit}. It was not added.</source>
        <translation>{name} 有 {found} KB，文本文件不能超过 {limit}。未添加。</translation>
    </message>
    <message>
        <source>{name} is no file. It was not added.</source>
        <translation>{name} 不是文件。未添加。</translation>
    </message>
    <message>
        <source>{name} could not be read ({reason}). It was not added.</source>
        <translation>无法读取 {name}（{reason}）。未添加。</translation>
    </message>
    <message>
        <source>{name} is no text file that can be read (UTF-8 or UTF-16). It was not added.</source>
        <translation>{name} 不是可读取的文本文件（UTF-8 或 UTF-16）。未添加。</translation>
    </message>
    <message>
        <source>Attach text files</source>
        <translation>附加文本文件</translation>
    </message>
</context>
<context>
    <name>AttachmentRow</name>
    <message>
        <source>Files of the question</source>
        <translation>问题附带的文件</translation>
    </message>
</context>
<context>
    <name>Chat</name>
    <message>
        <source>The reply failed.</source>
        <translation>回复失败。</translation>
    </message>
    <message>
        <source>The answer is ready.</source>
        <translation>回答已完成。</translation>
    </message>
    <message>
        <source>Waiting for the answer in another chat</source>
        <translation>正在等待另一个对话的回答</translation>
    </message>
    <message>
        <source>Waiting for {model}</source>
        <translation>正在等待 {model}</translation>
    </message>
    <message>
        <source>The question alone is longer than the {limit} tokens that the model can see. It is kept; shorten it, or set a longer context if the model allows it.</source>
        <translation>仅这个问题就超过了模型能看到的 {limit} 个 token。问题已保留；请缩短它，或在模型允许时设置更长的上下文。</translation>
    </message>
    <message>
        <source>The oldest exchange is left out. It stays in this chat.</source>
        <translation>最早的一组问答已略去，但仍留在此对话中。</translation>
    </message>
    <message>
        <source>The {count} oldest exchanges are left out. They stay in this chat.</source>
        <translation>最早的 {count} 组问答已略去，但仍留在此对话中。</translation>
    </message>
    <message>
        <source>This chat is no longer there.</source>
        <translation>此对话已不存在。</translation>
    </message>
    <message>
        <source>The context is full, so this reply cannot go on. Set a longer context if the model allows it.</source>
        <translation>上下文已满，此回复无法继续。如果模型允许，请设置更长的上下文。</translation>
    </message>
    <message>
        <source>This model cannot continue a reply. Ask for a new one instead.</source>
        <translation>此模型无法续写回复，请改为重新生成。</translation>
    </message>
    <message>
        <source>The earlier question and what followed it are kept.</source>
        <translation>原来的问题及其后的内容都已保留。</translation>
    </message>
    <message>
        <source>Stop the reply first, then try again.</source>
        <translation>请先停止当前回复，然后再试。</translation>
    </message>
    <message>
        <source>The model repeats itself.</source>
        <translation>模型在重复自己。</translation>
    </message>
    <message>
        <source>The model was repeating itself.</source>
        <translation>模型刚才在重复自己。</translation>
    </message>
    <message>
        <source>The context is full, so the reply breaks off here and cannot go on. Leave out the oldest exchanges and ask again, or set a longer context if the model allows it.</source>
        <translation>上下文已满，回复在此中断，无法继续。请略去最早的问答后重新提问，或在模型允许时设置更长的上下文。</translation>
    </message>
    <message>
        <source>This chat fills {percent} of what the model can see. When it is full, a reply breaks off, and for a new question the oldest exchanges must be left out.</source>
        <translation>此对话已占用模型可见范围的 {percent}。占满后回复会中断，再提问时必须略去最早的问答。</translation>
    </message>
    <message>
        <source>Reading the chat</source>
        <translation>正在读取对话</translation>
    </message>
    <message>
        <source>Thinking</source>
        <translation>正在思考</translation>
    </message>
    <message>
        <source>Answering</source>
        <translation>正在回答</translation>
    </message>
    <message>
        <source>Stopping</source>
        <translation>正在停止</translation>
    </message>
    <message>
        <source>“{search}” is also in a version that is not shown: {version}.</source>
        <translation>“{search}”也出现在未显示的版本中：{version}。</translation>
    </message>
    <message>
        <source>answer {number}</source>
        <translation>第 {number} 个回答</translation>
    </message>
    <message>
        <source>question {number}</source>
        <translation>第 {number} 个问题</translation>
    </message>
</context>
<context>
    <name>ChatSide</name>
    <message>
        <source>All chats</source>
        <translation>全部对话</translation>
    </message>
</context>
<context>
    <name>Chats</name>
    <message>
        <source>{title} (copy)</source>
        <translation>{title}（副本）</translation>
    </message>
    <message>
        <source>Another version: {text}</source>
        <translation>其他版本：{text}</translation>
    </message>
</context>
<context>
    <name>Check</name>
    <message>
        <source>{free} of {total} free</source>
        <translation>可用 {free}，共 {total}</translation>
    </message>
    <message>
        <source>GPU memory</source>
        <translation>显存</translation>
    </message>
    <message>
        <source>Main memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>{size} free</source>
        <translation>可用 {size}</translation>
    </message>
    <message>
        <source>Answers then come from the processor, more slowly.</source>
        <translation>届时由处理器回答，速度较慢。</translation>
    </message>
    <message>
        <source>NVIDIA driver</source>
        <translation>NVIDIA 驱动程序</translation>
    </message>
    <message>
        <source>{slowly} If this computer has an NVIDIA GPU, install its driver and check again.</source>
        <translation>{slowly}如果这台电脑有 NVIDIA GPU，请安装驱动程序后重新检查。</translation>
    </message>
    <message>
        <source>Not found</source>
        <translation>未找到</translation>
    </message>
    <message>
        <source>Too old: {oldest} or newer is needed. {slowly}</source>
        <translation>版本过旧：需要 {oldest} 或更新版本。{slowly}</translation>
    </message>
    <message>
        <source>No NVIDIA GPU found</source>
        <translation>未找到 NVIDIA GPU</translation>
    </message>
    <message>
        <source>Older than the GPUs that Thinkpane can use (from 2018 on). {slowly}</source>
        <translation>此 GPU 早于 Thinkpane 支持的型号（2018 年及以后）。{slowly}</translation>
    </message>
    <message>
        <source>The download takes {needed}. Free some space and check again.</source>
        <translation>下载需要 {needed}。请腾出一些空间后重新检查。</translation>
    </message>
    <message>
        <source>Free disk</source>
        <translation>可用磁盘空间</translation>
    </message>
    <message>
        <source>Folder for models</source>
        <translation>模型文件夹</translation>
    </message>
    <message>
        <source>Cannot be written to: {reason}. Make it writable and check again, or start Thinkpane with --profile and another folder.</source>
        <translation>无法写入：{reason}。请设为可写后重新检查，或用 --profile 指定其他文件夹启动 Thinkpane。</translation>
    </message>
</context>
<context>
    <name>CheckPage</name>
    <message>
        <source>Looking at this computer.</source>
        <translation>正在检查这台电脑。</translation>
    </message>
    <message>
        <source>Check this computer</source>
        <translation>检查这台电脑</translation>
    </message>
    <message>
        <source>Thinkpane answers on this computer alone. This is what it found, and what it means for you.</source>
        <translation>Thinkpane 只在这台电脑上回答。以下是检查结果及其含义。</translation>
    </message>
    <message>
        <source>Good</source>
        <translation>良好</translation>
    </message>
    <message>
        <source>Mind this</source>
        <translation>请留意</translation>
    </message>
    <message>
        <source>This has to be solved first</source>
        <translation>须先解决此问题</translation>
    </message>
</context>
<context>
    <name>ChoosePage</name>
    <message>
        <source>Choose a model</source>
        <translation>选择模型</translation>
    </message>
    <message>
        <source>You can add others later. Nothing is fetched before you press the button.</source>
        <translation>以后还可以添加其他模型。按下按钮之前不会下载任何内容。</translation>
    </message>
</context>
<context>
    <name>CodeBlock</name>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Copy code</source>
        <translation>复制代码</translation>
    </message>
    <message>
        <source>Copy this code</source>
        <translation>复制这段代码</translation>
    </message>
    <message>
        <source>Code</source>
        <translation>代码</translation>
    </message>
    <message>
        <source>code</source>
        <translation>代码</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
</context>
<context>
    <name>Composer</name>
    <message>
        <source>Question</source>
        <translation>问题</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>Send the question (Enter)</source>
        <translation>发送问题（Enter）</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Stop the answer (Esc)</source>
        <translation>停止回答（Esc）</translation>
    </message>
    <message>
        <source>Attach text files (or drop them here)</source>
        <translation>附加文本文件（也可拖放到这里）</translation>
    </message>
    <message>
        <source>Stopping</source>
        <translation>正在停止</translation>
    </message>
    <message>
        <source>Ask anything</source>
        <translation>随便问</translation>
    </message>
    <message>
        <source>Ask anything. Enter sends, Shift+Enter breaks the line.</source>
        <translation>随便问。Enter 发送，Shift+Enter 换行。</translation>
    </message>
    <message>
        <source>Does not think</source>
        <translation>不会思考</translation>
    </message>
    <message>
        <source>This model answers at once. Choose another one to see its thinking.</source>
        <translation>此模型会直接回答。要看思考过程，请换一个模型。</translation>
    </message>
    <message>
        <source>Thinking on</source>
        <translation>思考：开</translation>
    </message>
    <message>
        <source>Thinking off</source>
        <translation>思考：关</translation>
    </message>
    <message>
        <source>Whether the model thinks before it answers</source>
        <translation>模型回答前是否先思考</translation>
    </message>
</context>
<context>
    <name>ConversationList</name>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>Begin a new chat (Ctrl+N)</source>
        <translation>开始新对话（Ctrl+N）</translation>
    </message>
    <message>
        <source>Temporary chat: nothing of it is stored (Ctrl+Shift+N)</source>
        <translation>临时对话：不存储任何内容（Ctrl+Shift+N）</translation>
    </message>
    <message>
        <source>Search chats</source>
        <translation>搜索对话</translation>
    </message>
    <message>
        <source>Search titles and text (Ctrl+F)</source>
        <translation>搜索标题和正文（Ctrl+F）</translation>
    </message>
    <message>
        <source>Chats</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Trash</source>
        <translation>回收站</translation>
    </message>
    <message>
        <source>Show deleted chats</source>
        <translation>显示已删除的对话</translation>
    </message>
    <message>
        <source>Import or export chats</source>
        <translation>导入或导出对话</translation>
    </message>
    <message>
        <source>No chat contains “{text}”.</source>
        <translation>没有对话包含“{text}”。</translation>
    </message>
    <message>
        <source>Your chats will be listed here.</source>
        <translation>您的对话会列在这里。</translation>
    </message>
    <message>
        <source>Trash ({count})</source>
        <translation>回收站（{count}）</translation>
    </message>
    <message>
        <source>Temporary, not stored</source>
        <translation>临时，不存储</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>已置顶</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>今天</translation>
    </message>
    <message>
        <source>Yesterday</source>
        <translation>昨天</translation>
    </message>
    <message>
        <source>Last 7 days</source>
        <translation>最近 7 天</translation>
    </message>
    <message>
        <source>Last 30 days</source>
        <translation>最近 30 天</translation>
    </message>
    <message>
        <source>Earlier</source>
        <translation>更早</translation>
    </message>
    <message>
        <source>Import chats…</source>
        <translation>导入对话…</translation>
    </message>
    <message>
        <source>Export all chats</source>
        <translation>导出全部对话</translation>
    </message>
</context>
<context>
    <name>ConversationMenu</name>
    <message>
        <source>Rename</source>
        <translation>重命名</translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation>取消置顶</translation>
    </message>
    <message>
        <source>Pin to the top</source>
        <translation>置顶</translation>
    </message>
    <message>
        <source>Keep a copy</source>
        <translation>保留副本</translation>
    </message>
    <message>
        <source>Duplicate</source>
        <translation>复制对话</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>删除</translation>
    </message>
    <message>
        <source>Export</source>
        <translation>导出</translation>
    </message>
</context>
<context>
    <name>Downloads</name>
    <message>
        <source>{done} of {total} {unit}</source>
        <translation>{done} / {total} {unit}</translation>
    </message>
    <message>
        <source>config and templates</source>
        <translation>配置和模板</translation>
    </message>
    <message>
        <source>All files</source>
        <translation>全部文件</translation>
    </message>
    <message>
        <source>{size}, checked</source>
        <translation>{size}，已校验</translation>
    </message>
    <message>
        <source>{speed}.</source>
        <translation>{speed}。</translation>
    </message>
    <message>
        <source>{speed}, {left}.</source>
        <translation>{speed}，{left}。</translation>
    </message>
    <message>
        <source>waiting for the network</source>
        <translation>正在等待网络</translation>
    </message>
    <message>
        <source>less than a minute left</source>
        <translation>剩余不到 1 分钟</translation>
    </message>
    <message>
        <source>about 1 minute left</source>
        <translation>剩余约 1 分钟</translation>
    </message>
    <message>
        <source>about {count} minutes left</source>
        <translation>剩余约 {count} 分钟</translation>
    </message>
    <message>
        <source>about 1 hour left</source>
        <translation>剩余约 1 小时</translation>
    </message>
    <message>
        <source>about {count} hours left</source>
        <translation>剩余约 {count} 小时</translation>
    </message>
    <message>
        <source>more than two days left</source>
        <translation>剩余两天以上</translation>
    </message>
    <message>
        <source>Waiting for the network ({reason}). What has arrived is kept.</source>
        <translation>正在等待网络（{reason}）。已下载的内容会保留。</translation>
    </message>
    <message>
        <source>Waiting for the network ({reason}); trying again in {seconds} s. What has arrived is kept.</source>
        <translation>正在等待网络（{reason}），{seconds} 秒后重试。已下载的内容会保留。</translation>
    </message>
</context>
<context>
    <name>EmptyChat</name>
    <message>
        <source>Suggestions</source>
        <translation>建议</translation>
    </message>
    <message>
        <source>Why is the sky blue, and why are sunsets red?</source>
        <translation>天空为什么是蓝的，夕阳为什么是红的？</translation>
    </message>
    <message>
        <source>What is 17 × 23? Show the steps.</source>
        <translation>17 × 23 等于多少？请写出步骤。</translation>
    </message>
    <message>
        <source>Explain binary search to a ten-year-old.</source>
        <translation>向十岁的孩子解释二分查找。</translation>
    </message>
    <message>
        <source>Write a palindrome check in Python.</source>
        <translation>用 Python 写一个回文判断。</translation>
    </message>
    <message>
        <source>Plan three quick dinners with rice.</source>
        <translation>用米饭安排三顿快手晚餐。</translation>
    </message>
    <message>
        <source>Say “Good morning, how are you?” in Chinese.</source>
        <translation>“早上好，你好吗？”用英语怎么说？</translation>
    </message>
    <message>
        <source>Write a polite email to move a meeting.</source>
        <translation>写一封礼貌的邮件，把会议改期。</translation>
    </message>
    <message>
        <source>Compare tea and coffee in a small table.</source>
        <translation>用一个小表格比较茶和咖啡。</translation>
    </message>
    <message>
        <source>Is 91 a prime number? Explain.</source>
        <translation>91 是质数吗？请解释。</translation>
    </message>
    <message>
        <source>Give me a haiku about a quiet harbour.</source>
        <translation>写一首关于宁静港湾的短诗。</translation>
    </message>
    <message>
        <source>Ask anything</source>
        <translation>随便问</translation>
    </message>
    <message>
        <source>Nothing of this chat is stored. It is gone when you close the window.</source>
        <translation>此对话的任何内容都不会存储。关闭窗口后即消失。</translation>
    </message>
    <message>
        <source>It runs on this computer. What you write and what it answers stay here.</source>
        <translation>它在这台电脑上运行。您写的内容和它的回答都只留在这里。</translation>
    </message>
</context>
<context>
    <name>Errors</name>
    <message>
        <source>This chat has {tokens:,} tokens, and the model can see {limit:,} at once. Your question is kept; leave out the oldest exchanges, or set a longer context if the model allows it.</source>
        <translation>此对话有 {tokens:,} 个 token，而模型一次只能看到 {limit:,} 个。您的问题已保留；请略去最早的问答，或在模型允许时设置更长的上下文。</translation>
    </message>
    <message>
        <source>The model needs {needed} on {device}, and {free} are free. Nothing was lost; close other programs that use this memory, or set a shorter context.</source>
        <translation>模型在 {device} 上需要 {needed}，而可用空间为 {free}。没有丢失任何内容；请关闭占用该内存的其他程序，或设置更短的上下文。</translation>
    </message>
    <message>
        <source>No NVIDIA GPU can be used: {reason}. Your chats are untouched; Thinkpane can answer on the processor, more slowly.</source>
        <translation>没有可用的 NVIDIA GPU：{reason}。您的对话不受影响；Thinkpane 可以改用处理器回答，只是较慢。</translation>
    </message>
    <message>
        <source>The NVIDIA driver is too old: {found} is installed, {needed} or newer is needed. Your chats are untouched; update the driver, or use the processor meanwhile.</source>
        <translation>NVIDIA 驱动程序过旧：已安装 {found}，需要 {needed} 或更新版本。您的对话不受影响；请更新驱动程序，或暂时改用处理器。</translation>
    </message>
    <message>
        <source>The program for the GPU ({file}) could not be built on this computer. Your chats are untouched; use the processor meanwhile, and report this with the details.</source>
        <translation>无法在这台电脑上编译 GPU 程序（{file}）。您的对话不受影响；请暂时改用处理器，并附上详细信息反馈此问题。</translation>
    </message>
    <message>
        <source>Something went wrong that Thinkpane did not expect. What had arrived is kept; try again.</source>
        <translation>发生了 Thinkpane 未预料到的错误。已收到的内容已保留；请重试。</translation>
    </message>
    <message>
        <source>The model does not take this conversation as it is. Your question is kept; change it, or choose another model.</source>
        <translation>模型无法接受这样的对话。您的问题已保留；请修改它，或选择其他模型。</translation>
    </message>
    <message>
        <source>The setting {field} cannot be {value} with this model: expected {expected}. Your question is kept; correct the setting and try again.</source>
        <translation>对于此模型，设置“{field}”不能为 {value}，应为{expected}。您的问题已保留；请更正设置后重试。</translation>
    </message>
    <message>
        <source>A model file cannot be read: {path} ({reason}). Your chats are untouched; make it readable and try again, or choose another model.</source>
        <translation>无法读取模型文件：{path}（{reason}）。您的对话不受影响；请让它可以读取后重试，或选择其他模型。</translation>
    </message>
    <message>
        <source>A model file is damaged, or is not what its name says: {path}. Your chats are untouched; download the model again or choose another one.</source>
        <translation>模型文件已损坏，或与其名称不符：{path}。您的对话不受影响；请重新下载模型或选择其他模型。</translation>
    </message>
    <message>
        <source>{path} is missing, and the model needs it. Your chats are untouched; put the file back, download the model again, or choose another one.</source>
        <translation>缺少模型所需的 {path}。您的对话不受影响；请放回该文件、重新下载模型，或选择其他模型。</translation>
    </message>
    <message>
        <source>This model cannot be used. {reason} Your chats are untouched; choose another model.</source>
        <translation>无法使用此模型。{reason}您的对话不受影响；请选择其他模型。</translation>
    </message>
    <message>
        <source>The model computed a value that is not a number, so the reply was ended instead of going on wrongly. What had arrived is kept; try again.</source>
        <translation>模型算出了一个不是数的值，因此回复已结束，以免继续出错。已收到的内容已保留；请重试。</translation>
    </message>
    <message>
        <source>main memory</source>
        <translation>主内存</translation>
    </message>
    <message>
        <source>The GPU stopped answering. Every word is kept; restart Thinkpane to go on in this chat.</source>
        <translation>GPU 停止响应。所有内容均已保留；请重新启动 Thinkpane，以便在此对话中继续。</translation>
    </message>
    <message>
        <source>Loading the model was stopped. Your question is kept.</source>
        <translation>模型加载已停止。您的问题已保留。</translation>
    </message>
    <message>
        <source>{kept} of it are kept</source>
        <translation>其中 {kept} 已保留</translation>
    </message>
    <message>
        <source>Nothing is lost</source>
        <translation>没有丢失任何内容</translation>
    </message>
    <message>
        <source>{file} could not be downloaded: {reason}. {kept}; check the connection and try again to go on from there.</source>
        <translation>无法下载 {file}：{reason}。{kept}；请检查连接，重试时会从中断处继续。</translation>
    </message>
    <message>
        <source>The download of {file} was stopped. What had arrived is kept; it goes on from there when you start it again.</source>
        <translation>{file} 的下载已停止。已下载的内容会保留，再次开始时从中断处继续。</translation>
    </message>
    <message>
        <source>{file} is not the file it should be (its sha256 is {found}…, expected {expected}…). It is not used; your chats are untouched. Download it again.</source>
        <translation>{file} 不是应有的文件（其 sha256 为 {found}…，应为 {expected}…）。它不会被使用，您的对话不受影响。请重新下载。</translation>
    </message>
    <message>
        <source>The disk of {path} has {free} free, and {needed} are needed. What had arrived is kept; free some space and try again.</source>
        <translation>{path} 所在磁盘可用 {free}，而需要 {needed}。已下载的内容会保留；请腾出一些空间后重试。</translation>
    </message>
    <message>
        <source>{path} cannot be written to ({reason}). Nothing was changed; make the folder writable, or start Thinkpane with --profile and another folder.</source>
        <translation>无法写入 {path}（{reason}）。没有更改任何内容；请将文件夹设为可写，或用 --profile 指定其他文件夹启动 Thinkpane。</translation>
    </message>
    <message>
        <source>Another Thinkpane is downloading into {path}. Nothing was changed; wait for it, or close it and try again.</source>
        <translation>另一个 Thinkpane 正在向 {path} 下载。没有更改任何内容；请等待它完成，或将其关闭后重试。</translation>
    </message>
</context>
<context>
    <name>ExchangeWidget</name>
    <message>
        <source>The model no longer sees this</source>
        <translation>模型不再看到此内容</translation>
    </message>
    <message>
        <source>Width of the thinking pane</source>
        <translation>思考栏宽度</translation>
    </message>
    <message>
        <source>stopping</source>
        <translation>正在停止</translation>
    </message>
    <message>
        <source>Reading the conversation: {done} of {total}</source>
        <translation>正在读取对话：{done} / {total}</translation>
    </message>
    <message>
        <source>Reading the conversation</source>
        <translation>正在读取对话</translation>
    </message>
    <message>
        <source>comes after the thinking</source>
        <translation>思考之后给出</translation>
    </message>
    <message>
        <source>Budget: {used} of {budget}</source>
        <translation>预算：{used} / {budget}</translation>
    </message>
</context>
<context>
    <name>Export</name>
    <message>
        <source>{name} has {found} MB; an import may have {limit}. Nothing was imported.</source>
        <translation>{name} 有 {found} MB，导入文件不能超过 {limit}。未导入任何内容。</translation>
    </message>
    <message>
        <source>{name} is no export of Thinkpane. Choose a JSON file that Thinkpane wrote; nothing was imported.</source>
        <translation>{name} 不是 Thinkpane 的导出文件。请选择由 Thinkpane 写出的 JSON 文件；未导入任何内容。</translation>
    </message>
    <message>
        <source>{name} was written by another version of Thinkpane. Install the newer one to import it; nothing was imported.</source>
        <translation>{name} 由其他版本的 Thinkpane 写出。请安装更新版本后导入；未导入任何内容。</translation>
    </message>
    <message>
        <source>{name} is damaged at {place}. Nothing was imported.</source>
        <translation>{name} 在 {place} 处已损坏。未导入任何内容。</translation>
    </message>
    <message>
        <source>{name} could not be read ({reason}). Nothing was imported.</source>
        <translation>无法读取 {name}（{reason}）。未导入任何内容。</translation>
    </message>
    <message>
        <source>{path} could not be written ({reason}).</source>
        <translation>无法写入 {path}（{reason}）。</translation>
    </message>
    <message>
        <source>The chat was exported to {path}.</source>
        <translation>对话已导出到 {path}。</translation>
    </message>
    <message>
        <source>{count} chats were exported to {path}.</source>
        <translation>已将 {count} 个对话导出到 {path}。</translation>
    </message>
    <message>
        <source>One chat was imported from {name}.</source>
        <translation>已从 {name} 导入一个对话。</translation>
    </message>
    <message>
        <source>{count} chats were imported from {name}.</source>
        <translation>已从 {name} 导入 {count} 个对话。</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>Question</source>
        <translation>问题</translation>
    </message>
    <message>
        <source>Thinking</source>
        <translation>思考</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>回答</translation>
    </message>
    <message>
        <source>Export to</source>
        <translation>导出到</translation>
    </message>
    <message>
        <source>JSON (*.json)</source>
        <translation>JSON (*.json)</translation>
    </message>
    <message>
        <source>Markdown (*.md)</source>
        <translation>Markdown (*.md)</translation>
    </message>
    <message>
        <source>Import chats</source>
        <translation>导入对话</translation>
    </message>
    <message>
        <source>Exports of Thinkpane (*.json)</source>
        <translation>Thinkpane 导出文件 (*.json)</translation>
    </message>
</context>
<context>
    <name>ExportMenu</name>
    <message>
        <source>Markdown with thinking…</source>
        <translation>Markdown（含思考）…</translation>
    </message>
    <message>
        <source>Markdown without thinking…</source>
        <translation>Markdown（不含思考）…</translation>
    </message>
    <message>
        <source>JSON, to be imported again…</source>
        <translation>JSON（可再次导入）…</translation>
    </message>
</context>
<context>
    <name>FailurePageArea</name>
    <message>
        <source>Failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>What happened</source>
        <translation>发生了什么</translation>
    </message>
    <message>
        <source>What was kept</source>
        <translation>保留了什么</translation>
    </message>
    <message>
        <source>What to do</source>
        <translation>如何处理</translation>
    </message>
    <message>
        <source>Copy details</source>
        <translation>复制详细信息</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
</context>
<context>
    <name>Files</name>
    <message>
        <source>Look in:</source>
        <translation>查找范围：</translation>
    </message>
    <message>
        <source>Files of type:</source>
        <translation>文件类型：</translation>
    </message>
</context>
<context>
    <name>FirstAnswerPage</name>
    <message>
        <source>Loading</source>
        <translation>正在加载</translation>
    </message>
    <message>
        <source>Reading the question.</source>
        <translation>正在读取问题。</translation>
    </message>
</context>
<context>
    <name>HeaderBar</name>
    <message>
        <source>Show or hide the chats (Ctrl+B)</source>
        <translation>显示或隐藏对话列表（Ctrl+B）</translation>
    </message>
    <message>
        <source>Show or hide the settings (Ctrl+,)</source>
        <translation>显示或隐藏设置（Ctrl+,）</translation>
    </message>
    <message>
        <source>Thinkpane</source>
        <translation>Thinkpane</translation>
    </message>
    <message>
        <source>Temporary chat: nothing of it is stored</source>
        <translation>临时对话：不存储任何内容</translation>
    </message>
    <message>
        <source>Temporary chat</source>
        <translation>临时对话</translation>
    </message>
    <message>
        <source>Local. Nothing leaves this computer.</source>
        <translation>本地运行，任何内容都不会离开这台电脑。</translation>
    </message>
</context>
<context>
    <name>KeyList</name>
    <message>
        <source>Keys</source>
        <translation>快捷键</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>LinkGuard</name>
    <message>
        <source>Open link</source>
        <translation>打开链接</translation>
    </message>
    <message>
        <source>Open this address in your browser?</source>
        <translation>在浏览器中打开此地址？</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>打开</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>Thinkpane</source>
        <translation>Thinkpane</translation>
    </message>
</context>
<context>
    <name>ModelPicker</name>
    <message>
        <source>Choose a model</source>
        <translation>选择模型</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Choose the model (Ctrl+M)</source>
        <translation>选择模型（Ctrl+M）</translation>
    </message>
    <message>
        <source>Remove from the list</source>
        <translation>从列表中移除</translation>
    </message>
    <message>
        <source>Progress</source>
        <translation>进度</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>暂停</translation>
    </message>
    <message>
        <source>Demo model: only small tasks</source>
        <translation>演示模型：只能处理小任务</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Use it now</source>
        <translation>立即使用</translation>
    </message>
    <message>
        <source>not on disk</source>
        <translation>未下载</translation>
    </message>
    <message>
        <source>download paused at {percent}</source>
        <translation>下载已暂停于 {percent}</translation>
    </message>
    <message>
        <source>not found</source>
        <translation>未找到</translation>
    </message>
    <message>
        <source>downloading {percent}</source>
        <translation>正在下载 {percent}</translation>
    </message>
    <message>
        <source>checking {percent}</source>
        <translation>正在校验 {percent}</translation>
    </message>
    <message>
        <source>is ready</source>
        <translation>已就绪</translation>
    </message>
    <message>
        <source>on disk</source>
        <translation>在磁盘上</translation>
    </message>
    <message>
        <source>loading {percent}</source>
        <translation>正在加载 {percent}</translation>
    </message>
    <message>
        <source>ready</source>
        <translation>就绪</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>Add a model…</source>
        <translation>添加模型…</translation>
    </message>
    <message>
        <source>Its files stay where they are</source>
        <translation>文件会留在原处</translation>
    </message>
    <message>
        <source>Free memory</source>
        <translation>释放内存</translation>
    </message>
    <message>
        <source>Unload the model; the next question loads it again</source>
        <translation>卸载模型；下次提问时会重新加载</translation>
    </message>
</context>
<context>
    <name>Models</name>
    <message>
        <source>{total} needed: {weights} weights, {kv_cache} for {capacity_tokens:,} tokens of chat, {workspace} work space.</source>
        <translation>需要 {total}：权重 {weights}，{capacity_tokens:,} 个 token 的对话 {kv_cache}，工作空间 {workspace}。</translation>
    </message>
    <message>
        <source>{size} free in main memory.</source>
        <translation>内存可用 {size}。</translation>
    </message>
    <message>
        <source>{size} free on the {gpu}.</source>
        <translation>{gpu} 可用 {size}。</translation>
    </message>
    <message>
        <source>This does not fit; set a shorter context or free memory.</source>
        <translation>放不下；请设置更短的上下文或释放内存。</translation>
    </message>
    <message>
        <source>There is no model on this computer yet. Your question is kept.</source>
        <translation>这台电脑上还没有模型。您的问题已保留。</translation>
    </message>
    <message>
        <source>The GPU cannot replay its work as a graph here; answers come a little slower.</source>
        <translation>此 GPU 无法以 CUDA 图的方式重放计算，回答会稍慢一些。</translation>
    </message>
    <message>
        <source>Thinkpane ended unexpectedly while it loaded {label}, so it was not loaded again by itself. Your chats are untouched; try again, or choose another model.</source>
        <translation>Thinkpane 上次在加载 {label} 时意外结束，因此没有自动再次加载。您的对话不受影响；请重试，或换一个模型。</translation>
    </message>
    <message>
        <source>The change takes effect when the model is loaded again.</source>
        <translation>更改将在重新加载模型后生效。</translation>
    </message>
    <message>
        <source>{label} is answering. Stop the reply first, then remove it.</source>
        <translation>{label} 正在回答。请先停止回复，再移除它。</translation>
    </message>
    <message>
        <source>{label} is off the list. Its files stay at {path}.</source>
        <translation>{label} 已从列表中移除。文件仍在 {path}。</translation>
    </message>
    <message>
        <source>{done} of {total}</source>
        <translation>{done} / {total}</translation>
    </message>
    <message>
        <source>{label} is no longer at {path}. Your chats are untouched; put it back, or choose another model.</source>
        <translation>{label} 已不在 {path}。您的对话不受影响；请将其放回原处，或换一个模型。</translation>
    </message>
    <message>
        <source>The model is ready to be used.</source>
        <translation>模型已可使用。</translation>
    </message>
    <message>
        <source>main memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>That is too little: close other programs and check again.</source>
        <translation>空间不足：请关闭其他程序后重新检查。</translation>
    </message>
    <message>
        <source>GPU memory</source>
        <translation>显存</translation>
    </message>
    <message>
        <source>That is too little: close programs that use the GPU or choose the processor in the settings.</source>
        <translation>空间不足：请关闭占用 GPU 的程序，或在设置中选择处理器。</translation>
    </message>
    <message>
        <source>That is too little: close programs that use the GPU and check again.</source>
        <translation>空间不足：请关闭占用 GPU 的程序后重新检查。</translation>
    </message>
    <message>
        <source>Needs {total} of {where} for {capacity_tokens:,} tokens of context (weights {weights}, cache {kv_cache}, work space {workspace}); {free} are free.</source>
        <translation>{capacity_tokens:,} 个 token 的上下文需要 {total} {where}（权重 {weights}，缓存 {kv_cache}，工作空间 {workspace}）；可用 {free}。</translation>
    </message>
    <message>
        <source>Demo model</source>
        <translation>演示模型</translation>
    </message>
    <message>
        <source>the model</source>
        <translation>模型</translation>
    </message>
</context>
<context>
    <name>OptionCard</name>
    <message>
        <source>Delete it</source>
        <translation>删除它</translation>
    </message>
    <message>
        <source>Choose a folder</source>
        <translation>选择文件夹</translation>
    </message>
    <message>
        <source>Choose a GGUF file</source>
        <translation>选择 GGUF 文件</translation>
    </message>
    <message>
        <source>Folder of a model</source>
        <translation>模型文件夹</translation>
    </message>
    <message>
        <source>GGUF file</source>
        <translation>GGUF 文件</translation>
    </message>
    <message>
        <source>GGUF models (*.gguf)</source>
        <translation>GGUF 模型 (*.gguf)</translation>
    </message>
</context>
<context>
    <name>PaneGrip</name>
    <message>
        <source>Drag, or use the arrow keys; double-click for the usual width</source>
        <translation>拖动或使用方向键；双击恢复默认宽度</translation>
    </message>
</context>
<context>
    <name>PresetBar</name>
    <message>
        <source>Preset</source>
        <translation>预设</translation>
    </message>
    <message>
        <source>A named set of thinking, sampling and system prompt. Changes below belong to this chat alone, until you save them into the preset.</source>
        <translation>一组命名的思考、采样和系统提示词设置。以下更改只属于此对话，直到您将其保存到预设。</translation>
    </message>
    <message>
        <source>Changed</source>
        <translation>已更改</translation>
    </message>
    <message>
        <source>This chat differs from its preset</source>
        <translation>此对话与其预设不同</translation>
    </message>
    <message>
        <source>Take back</source>
        <translation>撤回更改</translation>
    </message>
    <message>
        <source>Back to the saved values of the preset</source>
        <translation>恢复预设中保存的值</translation>
    </message>
    <message>
        <source>Save preset</source>
        <translation>保存预设</translation>
    </message>
    <message>
        <source>New chats with this preset begin with these values</source>
        <translation>使用此预设的新对话将从这些值开始</translation>
    </message>
    <message>
        <source>Name of the preset</source>
        <translation>预设名称</translation>
    </message>
    <message>
        <source>Save under this name (Enter)</source>
        <translation>以此名称保存（Enter）</translation>
    </message>
    <message>
        <source>Cancel (Esc)</source>
        <translation>取消（Esc）</translation>
    </message>
    <message>
        <source>Preset: {name}</source>
        <translation>预设：{name}</translation>
    </message>
    <message>
        <source>Save as a new preset…</source>
        <translation>另存为新预设…</translation>
    </message>
    <message>
        <source>Rename…</source>
        <translation>重命名…</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>删除</translation>
    </message>
</context>
<context>
    <name>Presets</name>
    <message>
        <source>Default</source>
        <translation>默认</translation>
    </message>
    <message>
        <source>There is a preset “{name}” already.</source>
        <translation>已有名为“{name}”的预设。</translation>
    </message>
</context>
<context>
    <name>QuestionBubble</name>
    <message>
        <source>Question</source>
        <translation>问题</translation>
    </message>
    <message>
        <source>Edit the question</source>
        <translation>编辑问题</translation>
    </message>
    <message>
        <source>Ask again</source>
        <translation>重新提问</translation>
    </message>
    <message>
        <source>Ask the changed question (Ctrl+Enter)</source>
        <translation>提出修改后的问题（Ctrl+Enter）</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Earlier question</source>
        <translation>上一个问题</translation>
    </message>
    <message>
        <source>Later question</source>
        <translation>下一个问题</translation>
    </message>
    <message>
        <source>Show more of {count} characters</source>
        <translation>再显示一些（共 {count} 个字符）</translation>
    </message>
    <message>
        <source>Show less</source>
        <translation>收起</translation>
    </message>
    <message>
        <source>Show all {count} characters</source>
        <translation>显示全部 {count} 个字符</translation>
    </message>
</context>
<context>
    <name>ReplyCopies</name>
    <message>
        <source>Copy the answer as Markdown</source>
        <translation>以 Markdown 复制回答</translation>
    </message>
    <message>
        <source>Copy the answer as plain text</source>
        <translation>以纯文本复制回答</translation>
    </message>
    <message>
        <source>Copy the thinking</source>
        <translation>复制思考</translation>
    </message>
    <message>
        <source>Copy thinking and answer</source>
        <translation>复制思考和回答</translation>
    </message>
</context>
<context>
    <name>ReplyEditor</name>
    <message>
        <source>Edit the answer</source>
        <translation>编辑回答</translation>
    </message>
    <message>
        <source>The old answer is kept as a version. The model sees the new one.</source>
        <translation>旧回答会作为一个版本保留。模型看到的是新回答。</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>保存</translation>
    </message>
    <message>
        <source>Continue from here</source>
        <translation>从这里继续</translation>
    </message>
    <message>
        <source>Edit the thinking</source>
        <translation>编辑思考</translation>
    </message>
    <message>
        <source>The old reply is kept as a version. The model goes on from your text.</source>
        <translation>旧回复会作为一个版本保留。模型从您的文字继续。</translation>
    </message>
    <message>
        <source>Answer from here</source>
        <translation>从这里作答</translation>
    </message>
    <message>
        <source>Continue thinking</source>
        <translation>继续思考</translation>
    </message>
</context>
<context>
    <name>RowPainter</name>
    <message>
        <source>Title of the chat</source>
        <translation>对话标题</translation>
    </message>
</context>
<context>
    <name>SettingRow</name>
    <message>
        <source>{name}, slider</source>
        <translation>{name}，滑块</translation>
    </message>
    <message>
        <source>None</source>
        <translation>无</translation>
    </message>
    <message>
        <source>Expected {expected}.</source>
        <translation>应为{expected}。</translation>
    </message>
</context>
<context>
    <name>Settings</name>
    <message>
        <source>{name}: expected {expected}, found {found}</source>
        <translation>{name}：应为{expected}，实际为 {found}</translation>
    </message>
    <message>
        <source>true or false</source>
        <translation>真或假</translation>
    </message>
    <message>
        <source>one of {values}</source>
        <translation>以下之一：{values}</translation>
    </message>
    <message>
        <source>text of at most {count} characters</source>
        <translation>不超过 {count} 个字符的文本</translation>
    </message>
    <message>
        <source>a number from {low} to {high}</source>
        <translation>{low} 到 {high} 之间的数</translation>
    </message>
    <message>
        <source>a whole number from {low} to {high}</source>
        <translation>{low} 到 {high} 之间的整数</translation>
    </message>
    <message>
        <source>a whole number from {low} to {high}, or nothing</source>
        <translation>{low} 到 {high} 之间的整数，或留空</translation>
    </message>
    <message>
        <source>At temperature 0 a thinking model tends to repeat itself without end; 0.6 is advised.</source>
        <translation>温度为 0 时，思考型模型容易无休止地重复；建议 0.6。</translation>
    </message>
    <message>
        <source>At temperature 0 nothing is drawn, so the seed changes nothing.</source>
        <translation>温度为 0 时不作随机抽取，种子不起作用。</translation>
    </message>
    <message>
        <source>The longest reply is not longer than the thinking budget, so the answer may be cut before it begins.</source>
        <translation>最长回复不超过思考预算，回答可能还没开始就被截断。</translation>
    </message>
    <message>
        <source>Beyond 32,768 tokens, the length on the model card, answers may get worse.</source>
        <translation>超过模型说明中的 32,768 个 token 后，回答质量可能下降。</translation>
    </message>
    <message>
        <source>Thinking</source>
        <translation>思考</translation>
    </message>
    <message>
        <source>Sampling</source>
        <translation>采样</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>系统提示词</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Appearance</source>
        <translation>外观</translation>
    </message>
    <message>
        <source>Think before answering</source>
        <translation>回答前先思考</translation>
    </message>
    <message>
        <source>The model first reasons in the thinking pane, then answers. Slower, often better.</source>
        <translation>模型先在思考栏中推理，再回答。较慢，但往往更好。</translation>
    </message>
    <message>
        <source>No limit</source>
        <translation>不限</translation>
    </message>
    <message>
        <source>Thinking budget</source>
        <translation>思考预算</translation>
    </message>
    <message>
        <source>Most tokens to think for; then the model is told to answer.</source>
        <translation>最多思考多少个 token；之后会要求模型作答。</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>温度</translation>
    </message>
    <message>
        <source>How freely words are chosen; 0 always takes the likeliest. Advised: 0.6 while thinking, 0.7 otherwise.</source>
        <translation>选词的自由程度；0 表示总取可能性最大的。建议：思考时 0.6，否则 0.7。</translation>
    </message>
    <message>
        <source>Top-k</source>
        <translation>Top-k</translation>
    </message>
    <message>
        <source>Choose among this many likeliest tokens only; 0 switches the filter off.</source>
        <translation>只在可能性最大的这么多个 token 中选择；0 表示关闭此筛选。</translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation>Top-p</translation>
    </message>
    <message>
        <source>Choose among the likeliest tokens that together reach this share; 1 is off. Advised: 0.95 while thinking, 0.8 otherwise.</source>
        <translation>只在合计达到此比例的最可能 token 中选择；1 表示关闭。建议：思考时 0.95，否则 0.8。</translation>
    </message>
    <message>
        <source>Min-p</source>
        <translation>Min-p</translation>
    </message>
    <message>
        <source>Drop tokens less likely than this share of the likeliest one; 0 is off.</source>
        <translation>舍去概率低于最可能 token 此比例的 token；0 表示关闭。</translation>
    </message>
    <message>
        <source>Presence penalty</source>
        <translation>存在惩罚</translation>
    </message>
    <message>
        <source>Makes words that were already used in the reply less likely; try up to 1.5 when the model repeats itself.</source>
        <translation>降低回复中已用过的词的概率；模型重复时可试到 1.5。</translation>
    </message>
    <message>
        <source>Random</source>
        <translation>随机</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>种子</translation>
    </message>
    <message>
        <source>The same seed repeats a reply on the same computer with the same settings.</source>
        <translation>在同一台电脑、相同设置下，相同的种子会得到同样的回复。</translation>
    </message>
    <message>
        <source>Longest reply</source>
        <translation>最长回复</translation>
    </message>
    <message>
        <source>Most tokens of a reply, its thinking included. A reply that was cut here can be continued.</source>
        <translation>一条回复最多多少个 token，包括思考。在此截断的回复可以继续。</translation>
    </message>
    <message>
        <source>Told to the model before the first question of every chat.</source>
        <translation>在每个对话的第一个问题之前告诉模型。</translation>
    </message>
    <message>
        <source>Context length</source>
        <translation>上下文长度</translation>
    </message>
    <message>
        <source>How many tokens of the chat the model can see at once; more needs more memory. The model card of Qwen3-0.6B names 32,768; its configuration allows 40,960, which leaves room for a long reply. A change takes effect when the model is loaded again.</source>
        <translation>模型一次能看到多少个 token 的对话；越多越占内存。Qwen3-0.6B 的模型说明写的是 32,768；其配置允许 40,960，为长回复留出余地。更改在重新加载模型后生效。</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>NVIDIA GPU</source>
        <translation>NVIDIA GPU</translation>
    </message>
    <message>
        <source>Processor (slow)</source>
        <translation>处理器（慢）</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>设备</translation>
    </message>
    <message>
        <source>What computes the answers. Automatic takes the NVIDIA GPU where there is one.</source>
        <translation>由什么来计算回答。自动：有 NVIDIA GPU 时使用它。</translation>
    </message>
    <message>
        <source>Free memory when idle</source>
        <translation>空闲时释放内存</translation>
    </message>
    <message>
        <source>Minutes without a question after which the model leaves memory; 0 means never. The next question loads it again.</source>
        <translation>多少分钟没有提问后将模型移出内存；0 表示从不。下次提问时会重新加载。</translation>
    </message>
    <message>
        <source>As the system</source>
        <translation>跟随系统</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>浅色</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>深色</translation>
    </message>
    <message>
        <source>Theme</source>
        <translation>主题</translation>
    </message>
    <message>
        <source>Colours of the window.</source>
        <translation>窗口的颜色。</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>语言</translation>
    </message>
    <message>
        <source>Language of the window; the model answers in yours.</source>
        <translation>窗口的语言；模型用您的语言回答。</translation>
    </message>
    <message>
        <source>Font size</source>
        <translation>字号</translation>
    </message>
    <message>
        <source>Size of the answer&apos;s text, in pixels; all other text goes with it. Ctrl++ and Ctrl+- change it too, Ctrl+0 brings the usual size back.</source>
        <translation>回答正文的字号（像素）；其他文字随之变化。也可用 Ctrl++ 和 Ctrl+- 调整，Ctrl+0 恢复默认。</translation>
    </message>
    <message>
        <source>Show thinking</source>
        <translation>显示思考</translation>
    </message>
    <message>
        <source>Show the thinking pane beside the answer.</source>
        <translation>在回答旁显示思考栏。</translation>
    </message>
    <message>
        <source>Settings cannot be saved now ({problem}). They hold until you close the window.</source>
        <translation>现在无法保存设置（{problem}）。关闭窗口之前它们仍然有效。</translation>
    </message>
    <message>
        <source>it is far too large</source>
        <translation>文件过大</translation>
    </message>
    <message>
        <source>The settings in {path} could not be read ({reason}); defaults are used.</source>
        <translation>无法读取 {path} 中的设置（{reason}）；将使用默认值。</translation>
    </message>
    <message>
        <source>it is damaged</source>
        <translation>文件已损坏</translation>
    </message>
    <message>
        <source>it holds no settings</source>
        <translation>文件中没有设置</translation>
    </message>
    <message>
        <source>The settings file could not be used: {why}. It is kept as {kept}; defaults are used.</source>
        <translation>无法使用设置文件：{why}。已另存为 {kept}；将使用默认值。</translation>
    </message>
    <message>
        <source>Settings that this version does not know were left alone: {names}.</source>
        <translation>此版本不认识的设置已原样保留：{names}。</translation>
    </message>
    <message>
        <source>A setting was put back to its default: {error}.</source>
        <translation>一项设置已恢复默认值：{error}。</translation>
    </message>
    <message>
        <source>The part {key!r} of the settings file is damaged; its defaults are used.</source>
        <translation>设置文件的 {key!r} 部分已损坏；将使用其默认值。</translation>
    </message>
    <message>
        <source>An entry of the list of added models was damaged and is left out.</source>
        <translation>已添加模型列表中有一项已损坏，未予采用。</translation>
    </message>
    <message>
        <source>A damaged preset was left out.</source>
        <translation>一个已损坏的预设未予采用。</translation>
    </message>
</context>
<context>
    <name>SettingsPanel</name>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <source>Search settings</source>
        <translation>搜索设置</translation>
    </message>
    <message>
        <source>All keys (F1)</source>
        <translation>全部快捷键（F1）</translation>
    </message>
    <message>
        <source>Reset</source>
        <translation>重置</translation>
    </message>
    <message>
        <source>Reset {section}</source>
        <translation>重置{section}</translation>
    </message>
    <message>
        <source>Back to the advised values</source>
        <translation>恢复建议值</translation>
    </message>
    <message>
        <source>No setting contains “{text}”.</source>
        <translation>没有设置包含“{text}”。</translation>
    </message>
</context>
<context>
    <name>Shortcuts</name>
    <message>
        <source>Anywhere</source>
        <translation>任何位置</translation>
    </message>
    <message>
        <source>In the question</source>
        <translation>在问题框中</translation>
    </message>
    <message>
        <source>In the list of chats</source>
        <translation>在对话列表中</translation>
    </message>
    <message>
        <source>While a question or a reply is edited</source>
        <translation>编辑问题或回复时</translation>
    </message>
    <message>
        <source>In a number of the settings</source>
        <translation>在设置的数值框中</translation>
    </message>
    <message>
        <source>On the edge between two panes</source>
        <translation>在两栏之间的边缘上</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>Temporary chat, of which nothing is stored</source>
        <translation>临时对话，不存储任何内容</translation>
    </message>
    <message>
        <source>Search chats</source>
        <translation>搜索对话</translation>
    </message>
    <message>
        <source>Next place of what is searched for</source>
        <translation>搜索内容的下一处</translation>
    </message>
    <message>
        <source>Earlier place of what is searched for</source>
        <translation>搜索内容的上一处</translation>
    </message>
    <message>
        <source>Go to the question</source>
        <translation>转到问题框</translation>
    </message>
    <message>
        <source>Stop the answer; close what lies over the chat</source>
        <translation>停止回答；关闭盖在对话上的面板</translation>
    </message>
    <message>
        <source>End the thinking and answer now</source>
        <translation>结束思考，直接回答</translation>
    </message>
    <message>
        <source>Another version of the last answer</source>
        <translation>最后一个回答的另一个版本</translation>
    </message>
    <message>
        <source>Go on with a reply that was cut</source>
        <translation>继续被截断的回复</translation>
    </message>
    <message>
        <source>Show or hide the thinking</source>
        <translation>显示或隐藏思考</translation>
    </message>
    <message>
        <source>Go to the end of the chat and follow it</source>
        <translation>跳到对话末尾并跟随</translation>
    </message>
    <message>
        <source>Choose the model</source>
        <translation>选择模型</translation>
    </message>
    <message>
        <source>Show or hide the chats</source>
        <translation>显示或隐藏对话列表</translation>
    </message>
    <message>
        <source>Show or hide the settings</source>
        <translation>显示或隐藏设置</translation>
    </message>
    <message>
        <source>Search settings</source>
        <translation>搜索设置</translation>
    </message>
    <message>
        <source>Larger text</source>
        <translation>放大文字</translation>
    </message>
    <message>
        <source>Smaller text</source>
        <translation>缩小文字</translation>
    </message>
    <message>
        <source>Usual text size</source>
        <translation>恢复默认字号</translation>
    </message>
    <message>
        <source>Explain what has the focus</source>
        <translation>说明焦点所在的控件</translation>
    </message>
    <message>
        <source>This list</source>
        <translation>显示此列表</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>New line</source>
        <translation>换行</translation>
    </message>
    <message>
        <source>Ask the changed question, or go on from the changed text</source>
        <translation>提出修改后的问题，或从修改后的文字继续</translation>
    </message>
    <message>
        <source>Leave it as it was</source>
        <translation>保持原样</translation>
    </message>
    <message>
        <source>Open the chat</source>
        <translation>打开对话</translation>
    </message>
    <message>
        <source>Rename the chat</source>
        <translation>重命名对话</translation>
    </message>
    <message>
        <source>Delete the chat</source>
        <translation>删除对话</translation>
    </message>
    <message>
        <source>Everything else that can be done with the chat</source>
        <translation>对该对话的其他操作</translation>
    </message>
    <message>
        <source>One step more</source>
        <translation>增加一步</translation>
    </message>
    <message>
        <source>One step less</source>
        <translation>减少一步</translation>
    </message>
    <message>
        <source>Move the edge to the left</source>
        <translation>向左移动边缘</translation>
    </message>
    <message>
        <source>Move the edge to the right</source>
        <translation>向右移动边缘</translation>
    </message>
</context>
<context>
    <name>SidePanels</name>
    <message>
        <source>Width of the list of chats</source>
        <translation>对话列表宽度</translation>
    </message>
    <message>
        <source>Width of the settings</source>
        <translation>设置栏宽度</translation>
    </message>
</context>
<context>
    <name>SpokenReply</name>
    <message>
        <source>Thinking</source>
        <translation>思考</translation>
    </message>
    <message>
        <source>The reply has ended</source>
        <translation>回复已结束</translation>
    </message>
</context>
<context>
    <name>Start</name>
    <message>
        <source>Thinkpane cannot keep anything: {path} cannot be written to ({reason}). Make it writable, or start with --profile and another folder.</source>
        <translation>Thinkpane 无法保存任何内容：无法写入 {path}（{reason}）。请将其设为可写，或用 --profile 指定其他文件夹启动。</translation>
    </message>
    <message>
        <source>The profile {data_dir} cannot be locked: {lock_file} could not be made. Free some space on that disk, or start with --profile and another folder.</source>
        <translation>无法锁定配置目录 {data_dir}：无法创建 {lock_file}。请在该磁盘上腾出一些空间，或用 --profile 指定其他文件夹启动。</translation>
    </message>
    <message>
        <source>Thinkpane is already running with this profile; its window was shown.</source>
        <translation>Thinkpane 已在使用此配置目录运行；已显示其窗口。</translation>
    </message>
    <message>
        <source>Another Thinkpane is using the profile {data_dir} and does not answer. Close it, or start with --profile and another folder.</source>
        <translation>另一个 Thinkpane 正在使用配置目录 {data_dir}，且没有响应。请将其关闭，或用 --profile 指定其他文件夹启动。</translation>
    </message>
</context>
<context>
    <name>StatusBar</name>
    <message>
        <source>Status</source>
        <translation>状态</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>设备</translation>
    </message>
    <message>
        <source>Prefill speed</source>
        <translation>读取速度</translation>
    </message>
    <message>
        <source>Decode speed</source>
        <translation>生成速度</translation>
    </message>
    <message>
        <source>Time to first token</source>
        <translation>首个 token 用时</translation>
    </message>
    <message>
        <source>Phase</source>
        <translation>阶段</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>Context in use</source>
        <translation>已用上下文</translation>
    </message>
    <message>
        <source>GPU memory</source>
        <translation>显存</translation>
    </message>
    <message>
        <source>prefill</source>
        <translation>读取</translation>
    </message>
    <message>
        <source>decode</source>
        <translation>生成</translation>
    </message>
    <message>
        <source>first token {time}</source>
        <translation>首个 token {time}</translation>
    </message>
    <message>
        <source>What the model can see is full. For a new question the oldest exchanges must be left out; they stay in the chat.</source>
        <translation>模型的可见范围已满。再提问时必须略去最早的问答；它们仍留在对话中。</translation>
    </message>
    <message>
        <source>{percent} of what the model can see is in use. Soon a reply will break off, and for a new question the oldest exchanges must be left out.</source>
        <translation>已使用模型可见范围的 {percent}。回复很快会中断，再提问时必须略去最早的问答。</translation>
    </message>
    <message>
        <source>{percent} of what the model can see is in use. When it is full, a reply breaks off, and for a new question the oldest exchanges must be left out.</source>
        <translation>已使用模型可见范围的 {percent}。占满后回复会中断，再提问时必须略去最早的问答。</translation>
    </message>
    <message>
        <source>{percent} of what the model can see is in use.</source>
        <translation>已使用模型可见范围的 {percent}。</translation>
    </message>
    <message>
        <source>Thinkpane holds {own} GB and other programs {others} GB; {free} GB are free.</source>
        <translation>Thinkpane 占用 {own} GB，其他程序占用 {others} GB；可用 {free} GB。</translation>
    </message>
    <message>
        <source>GPU memory {used} of {total} GB</source>
        <translation>显存 {used} / {total} GB</translation>
    </message>
    <message>
        <source>{memory}, {others} by others</source>
        <translation>{memory}，其他程序占用 {others}</translation>
    </message>
    <message>
        <source>{name} {number} tok/s</source>
        <translation>{name} {number} token/秒</translation>
    </message>
    <message>
        <source>context {used} of {capacity}</source>
        <translation>上下文 {used} / {capacity}</translation>
    </message>
</context>
<context>
    <name>StepList</name>
    <message>
        <source>Check this computer</source>
        <translation>检查这台电脑</translation>
    </message>
    <message>
        <source>Choose a model</source>
        <translation>选择模型</translation>
    </message>
    <message>
        <source>Download</source>
        <translation>下载</translation>
    </message>
    <message>
        <source>Verify</source>
        <translation>校验</translation>
    </message>
    <message>
        <source>First answer</source>
        <translation>首个回答</translation>
    </message>
    <message>
        <source>✓ {step}</source>
        <translation>✓ {step}</translation>
    </message>
</context>
<context>
    <name>Store</name>
    <message>
        <source>The chats in {path} were written by a newer version of Thinkpane and are left untouched. Chats of this session are kept until you close the window; install the newer version to see the others.</source>
        <translation>{path} 中的对话由更新版本的 Thinkpane 写入，已原样保留。本次的对话会保留到您关闭窗口为止；要查看其他对话，请安装更新版本。</translation>
    </message>
    <message>
        <source>Thinkpane ended while a reply was running. What had arrived is kept; Continue goes on.</source>
        <translation>Thinkpane 在生成回复时结束了。已收到的内容会保留；点“继续”可接着生成。</translation>
    </message>
    <message>
        <source>the disk is full</source>
        <translation>磁盘已满</translation>
    </message>
    <message>
        <source>Free some space and start again.</source>
        <translation>请腾出一些空间后重新启动。</translation>
    </message>
    <message>
        <source>Make the folder writable and start again.</source>
        <translation>请将文件夹设为可写后重新启动。</translation>
    </message>
    <message>
        <source>The chats in {path} could not be opened for writing ({reason}). Earlier chats are shown, and new ones are kept until you close the window. {advice}</source>
        <translation>无法以写入方式打开 {path} 中的对话（{reason}）。可以查看以前的对话，新对话会保留到您关闭窗口为止。{advice}</translation>
    </message>
    <message>
        <source>The chats in {path} could not be opened for writing ({reason}). Chats of this session are kept until you close the window. {advice}</source>
        <translation>无法以写入方式打开 {path} 中的对话（{reason}）。本次的对话会保留到您关闭窗口为止。{advice}</translation>
    </message>
    <message>
        <source>The chat database was damaged. It is kept as {kept}; the list of chats starts empty.</source>
        <translation>对话数据库已损坏，已另存为 {kept}；对话列表从空白开始。</translation>
    </message>
    <message>
        <source>The chat database was damaged. It is kept as {kept}; the chats are shown as they were in the backup of {time}.</source>
        <translation>对话数据库已损坏，已另存为 {kept}；现在显示的是 {time} 备份中的对话。</translation>
    </message>
    <message>
        <source>The chats could not be read ({reason}). Try again.</source>
        <translation>无法读取对话（{reason}）。请重试。</translation>
    </message>
    <message>
        <source>Free some space</source>
        <translation>请腾出一些空间</translation>
    </message>
    <message>
        <source>another program holds the database</source>
        <translation>数据库被其他程序占用</translation>
    </message>
    <message>
        <source>Close the other program</source>
        <translation>请关闭那个程序</translation>
    </message>
    <message>
        <source>Check the folder {folder}</source>
        <translation>请检查文件夹 {folder}</translation>
    </message>
    <message>
        <source>Chats cannot be saved now: {reason}. Nothing is lost while this window stays open. {advice}; saving is tried again every few seconds.</source>
        <translation>现在无法保存对话：{reason}。只要不关闭此窗口就不会丢失任何内容。{advice}；每隔几秒会再次尝试保存。</translation>
    </message>
    <message>
        <source>A part of this reply was damaged on disk; what could be read is shown.</source>
        <translation>此回复的一部分在磁盘上已损坏；已显示可读取的内容。</translation>
    </message>
</context>
<context>
    <name>System</name>
    <message>
        <source>no permission</source>
        <translation>没有权限</translation>
    </message>
    <message>
        <source>the disk is read-only</source>
        <translation>磁盘为只读</translation>
    </message>
    <message>
        <source>the disk is full</source>
        <translation>磁盘已满</translation>
    </message>
    <message>
        <source>it is not there</source>
        <translation>它不存在</translation>
    </message>
    <message>
        <source>a file is in its place</source>
        <translation>该位置已有文件</translation>
    </message>
    <message>
        <source>a folder is in its place</source>
        <translation>该位置是文件夹</translation>
    </message>
    <message>
        <source>its name is too long</source>
        <translation>名称过长</translation>
    </message>
    <message>
        <source>its links lead in a circle</source>
        <translation>链接循环</translation>
    </message>
    <message>
        <source>the disk reports an error</source>
        <translation>磁盘报告错误</translation>
    </message>
    <message>
        <source>another program uses it</source>
        <translation>正被其他程序使用</translation>
    </message>
    <message>
        <source>too many files are open</source>
        <translation>打开的文件过多</translation>
    </message>
    <message>
        <source>another program holds the database</source>
        <translation>数据库被其他程序占用</translation>
    </message>
    <message>
        <source>it is read-only</source>
        <translation>它为只读</translation>
    </message>
    <message>
        <source>it is damaged</source>
        <translation>它已损坏</translation>
    </message>
    <message>
        <source>the database refused it</source>
        <translation>数据库拒绝了此操作</translation>
    </message>
    <message>
        <source>no connection</source>
        <translation>无法连接</translation>
    </message>
    <message>
        <source>no answer</source>
        <translation>没有响应</translation>
    </message>
    <message>
        <source>the connection was lost</source>
        <translation>连接中断</translation>
    </message>
    <message>
        <source>the connection is too slow</source>
        <translation>连接太慢</translation>
    </message>
    <message>
        <source>the proxy does not let it through</source>
        <translation>代理不予放行</translation>
    </message>
    <message>
        <source>the proxy wants a user name and a password</source>
        <translation>代理要求用户名和密码</translation>
    </message>
    <message>
        <source>a web page came in place of the file</source>
        <translation>收到的是网页而不是文件</translation>
    </message>
    <message>
        <source>the host sent something else</source>
        <translation>主机发来的不是所需内容</translation>
    </message>
    <message>
        <source>the host refused it</source>
        <translation>主机拒绝了请求</translation>
    </message>
    <message>
        <source>the host&apos;s certificate was refused</source>
        <translation>主机的证书未被接受</translation>
    </message>
    <message>
        <source>the host&apos;s certificate is not valid at this time, so check the clock</source>
        <translation>主机的证书在当前时间无效，请检查系统时钟</translation>
    </message>
    <message>
        <source>files may not come from this address</source>
        <translation>不允许从此地址获取文件</translation>
    </message>
    <message>
        <source>the system refused it</source>
        <translation>系统拒绝了此操作</translation>
    </message>
    <message>
        <source>the system refused it, error {number}</source>
        <translation>系统拒绝了此操作，错误 {number}</translation>
    </message>
    <message>
        <source>CuPy, which computes on it, is not installed</source>
        <translation>未安装用于 GPU 计算的 CuPy</translation>
    </message>
    <message>
        <source>CuPy, which computes on it, does not start</source>
        <translation>用于 GPU 计算的 CuPy 无法启动</translation>
    </message>
    <message>
        <source>no driver was found</source>
        <translation>未找到驱动程序</translation>
    </message>
    <message>
        <source>there is none</source>
        <translation>没有这样的 GPU</translation>
    </message>
    <message>
        <source>{gpu} is too old</source>
        <translation>{gpu} 过旧</translation>
    </message>
    <message>
        <source>its driver refused</source>
        <translation>其驱动程序拒绝了请求</translation>
    </message>
    <message>
        <source>{what}: {about}</source>
        <translation>{what}：{about}</translation>
    </message>
    <message>
        <source>Its architecture is {value}; Thinkpane can use {supported}.</source>
        <translation>其架构为 {value}，Thinkpane 可使用 {supported}。</translation>
    </message>
    <message>
        <source>Choose a folder with safetensors files and their config.json, or a GGUF file.</source>
        <translation>请选择含 safetensors 文件及其 config.json 的文件夹，或一个 GGUF 文件。</translation>
    </message>
    <message>
        <source>Its tokenizer is of a kind that Thinkpane does not know.</source>
        <translation>Thinkpane 不认识它的 tokenizer 类型。</translation>
    </message>
    <message>
        <source>Its weights are of the type {value}.</source>
        <translation>其权重类型为 {value}。</translation>
    </message>
    <message>
        <source>Its setting {key} is {value}.</source>
        <translation>其设置 {key} 为 {value}。</translation>
    </message>
</context>
<context>
    <name>ThinkingPane</name>
    <message>
        <source>Thinking</source>
        <translation>思考</translation>
    </message>
    <message>
        <source>Answer now</source>
        <translation>直接回答</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>编辑</translation>
    </message>
    <message>
        <source>Edit the thinking</source>
        <translation>编辑思考</translation>
    </message>
    <message>
        <source>Change the thinking, and let the model go on from there</source>
        <translation>修改思考，让模型从那里继续</translation>
    </message>
    <message>
        <source>Hide</source>
        <translation>隐藏</translation>
    </message>
    <message>
        <source>End the thinking and go on with the answer (Ctrl+Shift+A)</source>
        <translation>结束思考，直接回答（Ctrl+Shift+A）</translation>
    </message>
    <message>
        <source>Open full height</source>
        <translation>展开全高</translation>
    </message>
    <message>
        <source>Did not think</source>
        <translation>未思考</translation>
    </message>
    <message>
        <source>Usual height</source>
        <translation>恢复默认高度</translation>
    </message>
    <message>
        <source>Thought</source>
        <translation>已思考</translation>
    </message>
    <message>
        <source>for {time}, {tokens}</source>
        <translation>用时 {time}，{tokens}</translation>
    </message>
    <message>
        <source>for {time}</source>
        <translation>用时 {time}</translation>
    </message>
    <message>
        <source>has not begun</source>
        <translation>尚未开始</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>显示</translation>
    </message>
    <message>
        <source>Hide or show the thinking (Ctrl+T)</source>
        <translation>隐藏或显示思考（Ctrl+T）</translation>
    </message>
</context>
<context>
    <name>ThinkingText</name>
    <message>
        <source>Latest</source>
        <translation>最新</translation>
    </message>
    <message>
        <source>Jump to the latest thinking</source>
        <translation>跳到最新的思考</translation>
    </message>
    <message>
        <source>Follow the thinking again</source>
        <translation>继续跟随思考</translation>
    </message>
    <message>
        <source>Thinking text</source>
        <translation>思考正文</translation>
    </message>
</context>
<context>
    <name>TranscriptView</name>
    <message>
        <source>Conversation</source>
        <translation>对话内容</translation>
    </message>
    <message>
        <source>Jump to latest</source>
        <translation>跳到最新</translation>
    </message>
</context>
<context>
    <name>TransferPage</name>
    <message>
        <source>Meanwhile the built-in demo model can already think and answer small tasks.</source>
        <translation>在此期间，内置的演示模型已经可以思考并回答小任务。</translation>
    </message>
    <message>
        <source>Try it now</source>
        <translation>现在试试</translation>
    </message>
</context>
<context>
    <name>TrashView</name>
    <message>
        <source>Back to the chats</source>
        <translation>返回对话列表</translation>
    </message>
    <message>
        <source>Trash</source>
        <translation>回收站</translation>
    </message>
    <message>
        <source>Deleted chats</source>
        <translation>已删除的对话</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>恢复</translation>
    </message>
    <message>
        <source>Put the chosen chat back into the list (Enter)</source>
        <translation>将所选对话放回列表（Enter）</translation>
    </message>
    <message>
        <source>Erase</source>
        <translation>彻底删除</translation>
    </message>
    <message>
        <source>Erase the chosen chat for good (Del)</source>
        <translation>彻底删除所选对话（Del）</translation>
    </message>
    <message>
        <source>Empty the trash</source>
        <translation>清空回收站</translation>
    </message>
    <message>
        <source>Keep</source>
        <translation>保留</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>Deleted chats stay here for {days} days.</source>
        <translation>已删除的对话会在这里保留 {days} 天。</translation>
    </message>
    <message>
        <source>The trash is empty.</source>
        <translation>回收站是空的。</translation>
    </message>
    <message>
        <source>deleted today</source>
        <translation>今天删除</translation>
    </message>
    <message>
        <source>deleted yesterday, {left} days left</source>
        <translation>昨天删除，还剩 {left} 天</translation>
    </message>
    <message>
        <source>{days} days ago, {left} days left</source>
        <translation>{days} 天前，还剩 {left} 天</translation>
    </message>
    <message>
        <source>Erase “{title}” for good? This cannot be undone.</source>
        <translation>彻底删除“{title}”？此操作无法撤销。</translation>
    </message>
    <message>
        <source>Erase one chat for good? This cannot be undone.</source>
        <translation>彻底删除一个对话？此操作无法撤销。</translation>
    </message>
    <message>
        <source>Erase {count} chats for good? This cannot be undone.</source>
        <translation>彻底删除 {count} 个对话？此操作无法撤销。</translation>
    </message>
</context>
<context>
    <name>UndoBar</name>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>Bring the deleted chat back</source>
        <translation>恢复已删除的对话</translation>
    </message>
    <message>
        <source>Deleted “{title}”</source>
        <translation>已删除“{title}”</translation>
    </message>
</context>
<context>
    <name>WindowNotices</name>
    <message>
        <source>Seed {seed} is set. Regenerate repeats the answer as long as the other settings are those it was made with.</source>
        <translation>已设置种子 {seed}。只要其他设置与当时相同，重新生成会得到同样的回答。</translation>
    </message>
    <message>
        <source>A reply is still coming, so your question stays here. Send it afterwards, or stop the reply with Esc.</source>
        <translation>回复尚未结束，您的问题先留在这里。请稍后发送，或按 Esc 停止回复。</translation>
    </message>
</context>
<context>
    <name>Wizard</name>
    <message>
        <source>Loading {label}</source>
        <translation>正在加载 {label}</translation>
    </message>
    <message>
        <source>The first time takes a little longer.</source>
        <translation>第一次会稍慢一些。</translation>
    </message>
    <message>
        <source>The first answer</source>
        <translation>第一个回答</translation>
    </message>
    <message>
        <source>It comes from this computer alone.</source>
        <translation>它完全来自这台电脑。</translation>
    </message>
    <message>
        <source>{label} is ready</source>
        <translation>{label} 已就绪</translation>
    </message>
    <message>
        <source>It answered on this computer. Nothing that you write leaves it.</source>
        <translation>它在这台电脑上作出了回答。您写的内容不会离开这台电脑。</translation>
    </message>
    <message>
        <source>{decode_tokens_per_s:,.1f} tokens/s on {device}. The first word came after {first_token_s:.2f} s.</source>
        <translation>在 {device} 上每秒 {decode_tokens_per_s:,.1f} 个 token。首个词用时 {first_token_s:.2f} 秒。</translation>
    </message>
    <message>
        <source>Check again</source>
        <translation>重新检查</translation>
    </message>
    <message>
        <source>Next</source>
        <translation>下一步</translation>
    </message>
    <message>
        <source>Try the demo model now</source>
        <translation>先试演示模型</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>上一步</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>暂停</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Start chatting</source>
        <translation>开始对话</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Go on downloading</source>
        <translation>继续下载</translation>
    </message>
    <message>
        <source>Download</source>
        <translation>下载</translation>
    </message>
    <message>
        <source>Use this model</source>
        <translation>使用此模型</translation>
    </message>
    <message>
        <source>The demo model</source>
        <translation>演示模型</translation>
    </message>
    <message>
        <source>Comes with Thinkpane: very small, it thinks and answers small tasks.</source>
        <translation>随 Thinkpane 附带：非常小，能思考并回答小任务。</translation>
    </message>
    <message>
        <source>Download {size} from Hugging Face. Licence {license}.</source>
        <translation>从 Hugging Face 下载 {size}。许可证 {license}。</translation>
    </message>
    <message>
        <source>On this disk and checked ({size}). Licence {license}.</source>
        <translation>已在此磁盘上并通过校验（{size}）。许可证 {license}。</translation>
    </message>
    <message>
        <source>{held} of it are already here.</source>
        <translation>其中 {held} 已下载。</translation>
    </message>
    <message>
        <source>The disk has {free_disk} free, and {missing} are needed. Free some space, go back and check again.</source>
        <translation>磁盘可用 {free_disk}，而需要 {missing}。请腾出一些空间，返回后重新检查。</translation>
    </message>
    <message>
        <source>A Hugging Face folder or one GGUF file. It stays where it is.</source>
        <translation>Hugging Face 文件夹或单个 GGUF 文件。文件会留在原处。</translation>
    </message>
    <message>
        <source>Opening it.</source>
        <translation>正在打开。</translation>
    </message>
    <message>
        <source>A model that I have</source>
        <translation>我已有的模型</translation>
    </message>
    <message>
        <source>Downloading {label}</source>
        <translation>正在下载 {label}</translation>
    </message>
    <message>
        <source>{total} from Hugging Face. You can pause, close the window or lose the network: it goes on from the same byte.</source>
        <translation>从 Hugging Face 下载 {total}。可以暂停、关闭窗口或断开网络：会从同一字节继续。</translation>
    </message>
    <message>
        <source>Free disk after this: {size}.</source>
        <translation>下载后磁盘剩余：{size}。</translation>
    </message>
    <message>
        <source>Paused. Nothing that has arrived is lost.</source>
        <translation>已暂停。已下载的内容不会丢失。</translation>
    </message>
    <message>
        <source>Checking {file}.</source>
        <translation>正在校验 {file}。</translation>
    </message>
    <message>
        <source>Connecting.</source>
        <translation>正在连接。</translation>
    </message>
    <message>
        <source>Checking what arrived</source>
        <translation>正在校验下载内容</translation>
    </message>
    <message>
        <source>The sha256 of every file is compared with the one that came with Thinkpane. No file is used before that.</source>
        <translation>每个文件的 sha256 都会与 Thinkpane 自带的值比对。在此之前不会使用任何文件。</translation>
    </message>
    <message>
        <source>{held} of {total} are kept. Nothing of it is fetched again.</source>
        <translation>已保留 {held}，共 {total}。这部分不会重新下载。</translation>
    </message>
    <message>
        <source>Nothing had arrived yet. Your chats and settings are untouched.</source>
        <translation>尚未下载任何内容。您的对话和设置不受影响。</translation>
    </message>
    <message>
        <source>A file is not the right one</source>
        <translation>文件不正确</translation>
    </message>
    <message>
        <source>{file} arrived whole, twice, but its content is not what the makers of the model published. It was not used, and it is not kept.</source>
        <translation>{file} 两次都完整下载，但内容与模型作者发布的不符。它没有被使用，也不会保留。</translation>
    </message>
    <message>
        <source>Choose Try again. If it happens again, something on the way changes files: a proxy, a virus scanner or a mirror. Try another network.</source>
        <translation>请选择“重试”。如果再次出现，说明途中有东西改动了文件：代理、杀毒软件或镜像。请换一个网络。</translation>
    </message>
    <message>
        <source>The disk is full</source>
        <translation>磁盘已满</translation>
    </message>
    <message>
        <source>{needed} are needed in {path}, and {free} are free.</source>
        <translation>{path} 需要 {needed}，而可用空间为 {free}。</translation>
    </message>
    <message>
        <source>Free some space on that disk. Choose Try again to go on from the same byte.</source>
        <translation>请在该磁盘上腾出一些空间。选择“重试”会从同一字节继续。</translation>
    </message>
    <message>
        <source>The folder cannot be written to</source>
        <translation>无法写入文件夹</translation>
    </message>
    <message>
        <source>{path}: {reason}.</source>
        <translation>{path}：{reason}。</translation>
    </message>
    <message>
        <source>Make the folder writable. Choose Try again, or start Thinkpane with --profile and another folder.</source>
        <translation>请将文件夹设为可写。然后选择“重试”，或用 --profile 指定其他文件夹启动 Thinkpane。</translation>
    </message>
    <message>
        <source>Another Thinkpane is downloading this model</source>
        <translation>另一个 Thinkpane 正在下载此模型</translation>
    </message>
    <message>
        <source>It holds the folder {path}.</source>
        <translation>它占用着文件夹 {path}。</translation>
    </message>
    <message>
        <source>Wait for it or close it. Choose Try again to use what it has fetched.</source>
        <translation>请等待它完成或将其关闭。选择“重试”会使用它已下载的内容。</translation>
    </message>
    <message>
        <source>The download stopped</source>
        <translation>下载已停止</translation>
    </message>
    <message>
        <source>Choose Try again.</source>
        <translation>请选择“重试”。</translation>
    </message>
    <message>
        <source>A web page came in place of the model</source>
        <translation>收到的是网页而不是模型</translation>
    </message>
    <message>
        <source>Some networks want a login in the browser first. Log in there. Choose Try again.</source>
        <translation>有些网络要求先在浏览器中登录。请登录后选择“重试”。</translation>
    </message>
    <message>
        <source>No connection to the model host</source>
        <translation>无法连接到模型服务器</translation>
    </message>
    <message>
        <source>Check the network and, where you use one, the proxy. Choose Try again to go on from the same byte.</source>
        <translation>请检查网络以及代理（如有使用）。选择“重试”会从同一字节继续。</translation>
    </message>
    <message>
        <source>Choose Try again to go on from the same byte. If it stops again, wait a while or try another network.</source>
        <translation>选择“重试”会从同一字节继续。如果再次停止，请稍等片刻或换一个网络。</translation>
    </message>
    <message>
        <source>The model did not answer</source>
        <translation>模型没有回答</translation>
    </message>
    <message>
        <source>The model is complete and checked. Nothing has to be fetched again.</source>
        <translation>模型完整且已校验，无需重新下载任何内容。</translation>
    </message>
    <message>
        <source>Choose Try again, or go back and choose another model.</source>
        <translation>请选择“重试”，或返回换一个模型。</translation>
    </message>
</context>
<context>
    <name>WizardWindow</name>
    <message>
        <source>Set up Thinkpane</source>
        <translation>设置 Thinkpane</translation>
    </message>
</context>
<context>
    <name>Wording</name>
    <message>
        <source>1 token</source>
        <translation>1 个 token</translation>
    </message>
    <message>
        <source>{count} tokens</source>
        <translation>{count} 个 token</translation>
    </message>
    <message>
        <source>{seconds} s</source>
        <translation>{seconds} 秒</translation>
    </message>
    <message>
        <source>{minutes} min {seconds} s</source>
        <translation>{minutes} 分 {seconds} 秒</translation>
    </message>
    <message>
        <source>{milliseconds} ms</source>
        <translation>{milliseconds} 毫秒</translation>
    </message>
    <message>
        <source>{count} bytes</source>
        <translation>{count} 字节</translation>
    </message>
    <message>
        <source>No answer yet: it was cut before it began.</source>
        <translation>还没有回答：在开始之前就中断了。</translation>
    </message>
    <message>
        <source>No answer: the thinking took all the tokens there were.</source>
        <translation>没有回答：思考用尽了可用的 token。</translation>
    </message>
    <message>
        <source>No answer: the model ended after its thinking.</source>
        <translation>没有回答：模型思考之后就结束了。</translation>
    </message>
    <message>
        <source>No answer: the model ended at once.</source>
        <translation>没有回答：模型立即结束了。</translation>
    </message>
    <message>
        <source>interrupted when the app ended</source>
        <translation>应用结束时中断</translation>
    </message>
    <message>
        <source>stopped by itself</source>
        <translation>自然结束</translation>
    </message>
    <message>
        <source>stopped at a stop text</source>
        <translation>遇到停止文本而结束</translation>
    </message>
    <message>
        <source>stopped by you</source>
        <translation>由您停止</translation>
    </message>
    <message>
        <source>reached the token limit</source>
        <translation>达到 token 上限</translation>
    </message>
    <message>
        <source>context full</source>
        <translation>上下文已满</translation>
    </message>
    <message>
        <source>edited by you</source>
        <translation>由您编辑</translation>
    </message>
</context>
<context>
    <name>_Chip</name>
    <message>
        <source>Put into the text</source>
        <translation>放入正文</translation>
    </message>
    <message>
        <source>Remove {name}</source>
        <translation>移除 {name}</translation>
    </message>
    <message>
        <source>{size}, {tokens}</source>
        <translation>{size}，{tokens}</translation>
    </message>
    <message>
        <source>{size}, tokens not counted yet</source>
        <translation>{size}，尚未统计 token</translation>
    </message>
    <message>
        <source>{size}, counting tokens: {percent}</source>
        <translation>{size}，正在统计 token：{percent}</translation>
    </message>
</context>
<context>
    <name>_FileRow</name>
    <message>
        <source>Progress</source>
        <translation>进度</translation>
    </message>
</context>
<context>
    <name>_Form</name>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>{action} (Ctrl+Enter)</source>
        <translation>{action}（Ctrl+Enter）</translation>
    </message>
</context>
<context>
    <name>_NoticeRow</name>
    <message>
        <source>Dismiss</source>
        <translation>关闭</translation>
    </message>
</context>
</TS>
